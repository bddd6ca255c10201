// The code that a thread of the program executes for us, once: it saves all its registers, begins a
// thread of the program that loads the recorder, puts its registers back, and goes on where it was.
//
// It needs nobody to put anything back: it does the same if memprof is killed in that moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace memprof::cli {

// Of the thread, as it goes on: the first words of user_regs_struct, up to the stack pointer.
using StubRegisters = std::array<std::uint64_t, 20>;

struct StubParts {
  // Functions of the program's C library.
  std::uint64_t pthread_create = 0, pthread_detach = 0, dlopen = 0, dlsym = 0, munmap = 0;
  std::uint64_t place = 0;  // where the code may map memory: StubIsInUse looks there
  StubRegisters registers{};
  std::string library, settings;  // paths and text without zeros
};

// Whether there is such code for this processor.
bool HasStub();
// The bytes for `address`, to which they must be copied: the entry is at their beginning.
std::string MakeStub(const StubParts& parts, std::uint64_t address);

// Reads memory of the program; false if there is none.
using ReadMemory = std::function<bool(std::uint64_t address, void* to, std::size_t bytes)>;
// Whether a thread of the program may still execute code that was written to `address` before.
bool StubIsInUse(std::uint64_t address, const ReadMemory& read);

}  // namespace memprof::cli
