// The code that a thread of the program executes for us, once: it saves all its registers, begins a
// thread of the program that loads the recorder, puts its registers back, and goes on where it was.
//
// It needs nobody to put anything back: it does the same if memprof is killed in that moment.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

struct StubParts {
  // Functions of the program's C library.
  std::uint64_t pthread_create = 0, pthread_detach = 0, dlopen = 0, dlsym = 0;
  std::uint64_t stack = 0, resume = 0;  // of the thread: its stack pointer, and where it goes on
  std::string library, settings;        // paths and text without zeros
};

// Whether there is such code for this processor.
bool HasStub();
// The bytes for `address`, to which they must be copied: the entry is at their beginning.
std::string MakeStub(const StubParts& parts, std::uint64_t address);

}  // namespace memprof::cli
