// Calls C++ functions of other libraries that may throw. The recorder is compiled without
// exceptions and does not link the C++ runtime.
//
// An exception that passed through the recorder would leave a call of the program that never throws
// without it. So the exception ends here.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace memprof::recorder {

// Whether exceptions can be caught in this process: its C++ runtime was found. Calls the loader.
bool CanCatch();

// What a function of the System V ABI may return in two integer registers.
struct RegisterPair {
  std::uint64_t first, second;
};
// False when the function threw. Requires CanCatch.
extern "C" int memprof_call_catching(void (*function)(), std::uint64_t argument,
                                     RegisterPair* result) __attribute__((visibility("hidden")));

template <typename Result, typename Argument>
bool CallForeign(Result (*function)(Argument), Argument argument, Result* result) {
  static_assert(sizeof(Result) <= sizeof(RegisterPair) && sizeof(Argument) <= 8);
  std::uint64_t passed = 0;
  if constexpr (std::is_integral_v<Argument>)  // callees may rely on its being extended
    passed = static_cast<std::uint64_t>(static_cast<std::int64_t>(argument));
  else
    std::memcpy(&passed, &argument, sizeof argument);
  RegisterPair registers{};
  if (memprof_call_catching(reinterpret_cast<void (*)()>(function), passed, &registers) == 0)
    return false;
  std::memcpy(result, &registers, sizeof *result);
  return true;
}

}  // namespace memprof::recorder
