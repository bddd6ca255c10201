// Known functions at known lines. Compiled with optimisation and full DWARF in every build type.
#include "tests/store/symbols_guest.h"

#include <execinfo.h>

namespace guest {
namespace {

Capture captured;
volatile int sink;

constexpr int kInnermostLine = __LINE__ + 5;
__attribute__((noinline)) void Innermost(int depth) {
  void* addresses[8];
  // The first address lies behind the call of backtrace in this very line.
  captured.count =
      backtrace(addresses, 8);
  for (int i = 0; i < captured.count; ++i)
    captured.address[i] = static_cast<const char*>(addresses[i]) - 1;
  sink = depth;
}

constexpr int kInlinedLine = __LINE__ + 2;
__attribute__((always_inline)) inline void Inlined(int depth) {
  Innermost(depth + 1);
  sink = depth;
}

struct Holder {
  __attribute__((noinline)) static void Middle(int depth);
};

constexpr int kMiddleLine = __LINE__ + 2;
void Holder::Middle(int depth) {
  Inlined(depth + 1);
  sink = depth;
}

}  // namespace

constexpr int kOuterLine = __LINE__ + 2;
__attribute__((noinline)) Capture Outer() {
  Holder::Middle(1);
  sink = 0;
  return captured;
}

const Lines kLines = {kOuterLine, kMiddleLine, kInlinedLine, kInnermostLine};

}  // namespace guest
