// The names of the functions that memprof intercepts. Separate from cuda.h, whose macros rename
// them.
#pragma once

#include <set>
#include <string>

namespace memprof::gpu_check {

const std::set<std::string>& TableNames();

}  // namespace memprof::gpu_check
