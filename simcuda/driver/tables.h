// Tables generated from the toolkit's headers: exported functions, the versions that
// cuGetProcAddress chooses among, and the names of callback ids.
#ifndef SIMCUDA_DRIVER_TABLES_H
#define SIMCUDA_DRIVER_TABLES_H

namespace memprof::simcuda {

struct ExportedFunction {
  const char* name;
  void (*address)();
};
extern const ExportedFunction kExports[];
extern const int kExportCount;

// `name` is the variant of the function `base` from CUDA `version` on.
struct ProcRow {
  const char* base;
  int version;
  int exported;             // index into kExports
  int exported_per_thread;  // its _ptsz or _ptds variant, or -1
};
extern const ProcRow kProcs[];  // sorted by base, then by version
extern const int kProcCount;

extern const char* const kCbidNames[];  // null where no function has that id
extern const unsigned kCbidCount;

struct ErrorRow {
  int result;
  const char* name;  // CUDA_ERROR_OUT_OF_MEMORY
  const char* text;  // out of memory
};
extern const ErrorRow kErrors[];
extern const int kErrorCount;

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_TABLES_H
