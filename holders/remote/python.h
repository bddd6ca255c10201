// The Python in another process: where it is, which version, where its types are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "holders/remote/layout.h"
#include "holders/remote/memory.h"
#include "holders/remote/process.h"
#include "libmemprof/src/python_layout/layout.h"

namespace memprof::holders {

struct Python {
  ObjectLayout layout;
  recorder::PythonLayout frames;
  std::uint64_t runtime = 0;
  // Types.
  std::uint64_t type = 0, cell = 0, method = 0, function = 0, module = 0, set = 0, frozen_set = 0,
                generator = 0, coroutine = 0, async_generator = 0, frame = 0, traceback = 0,
                code = 0;
};

// kFailedPrecondition if the process runs no Python, or one that is not known.
absl::StatusOr<Python> FindPython(pid_t pid, const std::vector<Mapping>& mappings, Memory& memory);

}  // namespace memprof::holders
