// Progress and cancellation of long work.
#pragma once

#include <functional>

namespace memprof::analysis {

// Called from time to time on the working thread with the share done in [0, 1]; returning false
// cancels the work (Status kCancelled).
using ProgressFunction = std::function<bool(double)>;

}  // namespace memprof::analysis
