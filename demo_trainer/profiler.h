// Calls of memprof's API, if memprof was preloaded; otherwise they do nothing.
#ifndef DEMO_TRAINER_PROFILER_H_
#define DEMO_TRAINER_PROFILER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace memprof::demo::profiler {

void Step(uint64_t step);
void Snapshot(const std::string& label);
void TensorCreate(int device, const void* ptr, size_t bytes, const std::string& name,
                  const char* dtype, const std::vector<int64_t>& shape);
void TensorDestroy(int device, const void* ptr);
void SegmentCreate(int device, const void* ptr, size_t bytes, const void* stream);
void SegmentDestroy(int device, const void* ptr);
void BlockCreate(int device, const void* ptr, size_t bytes, size_t requested, const void* stream);
void BlockDestroy(int device, const void* ptr);
void FrameworkOom(int device, size_t requested, size_t allocated, size_t reserved);

// A named range of this thread: "forward", "backward", ...
class Range {
 public:
  explicit Range(const char* name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace memprof::demo::profiler

#endif  // DEMO_TRAINER_PROFILER_H_
