#include "table_names.h"

#include "libmemprof/src/driver/table.h"

namespace memprof::gpu_check {

const std::set<std::string>& TableNames() {
#define ENTRY(name, base, since, streams, parameters, arguments, handler) #name,
  static const std::set<std::string> names = {MEMPROF_DRIVER_FUNCTIONS(ENTRY)};
#undef ENTRY
  return names;
}

}  // namespace memprof::gpu_check
