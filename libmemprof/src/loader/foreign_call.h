// Calls of C++ functions of other people's that may throw, from code that is compiled without
// exceptions and does not link their runtime.
//
// An exception that passed through this library would come out of a call of the program's that
// never throws without us. So it ends here.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace memprof::recorder {

// Whether exceptions can be caught in this process: its C++ runtime is known. Asks the loader.
bool CanCatch();

// What a function of the System V ABI may return in two registers of integers.
struct RegisterPair {
  std::uint64_t first, second;
};
// False when it threw. Only where CanCatch.
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
