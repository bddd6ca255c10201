// Where names begin: the modules that another process has imported, and the frames of its threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "holders/remote/memory.h"
#include "holders/remote/python.h"
#include "holders/remote/types.h"

namespace memprof::holders {

struct Module {
  std::string name, file;   // "" = it has none
  std::uint64_t names = 0;  // its dictionary
  bool of_user = false;
};

struct Frame {
  std::uint64_t address = 0, code = 0;
  std::string function, file;  // the function qualified from 3.11 on
  int line = 0;
  bool of_user = false;
};

struct Roots {
  std::vector<Module> modules;  // those of the user first, of these __main__ first
  std::vector<Frame> frames;    // the same; of a thread, innermost first
  int threads = 0;
};

// kFailedPrecondition if the interpreter is not as it should be, as before its start or after its
// end.
absl::StatusOr<Roots> FindRoots(Memory& memory, const Python& python, Types& types);

// Function, file and line of the code that the frame at `address` runs.
Frame DescribeFrame(Memory& memory, const Python& python, Types& types, std::uint64_t address);

}  // namespace memprof::holders
