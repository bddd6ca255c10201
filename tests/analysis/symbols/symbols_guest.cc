// Known functions at known lines. Compiled with optimisation and full DWARF in every build type.
#include "tests/analysis/symbols/symbols_guest.h"

namespace guest {
namespace {

Capture captured;
volatile int sink;

// An address inside the instruction that called the function this is used in.
#define CALLER() (static_cast<const char*>(__builtin_return_address(0)) - 1)

__attribute__((noinline)) const char* Here() {
  asm volatile("");  // keeps the call: without effects it could be moved or merged
  return CALLER();
}

constexpr int kInnermostLine = __LINE__ + 2;
__attribute__((noinline)) void Innermost(int depth) {
  captured.address[0] = Here();
  captured.address[1] = CALLER();
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
  captured.address[2] = CALLER();
}

}  // namespace

constexpr int kOuterLine = __LINE__ + 2;
__attribute__((noinline)) Capture Outer() {
  Holder::Middle(1);
  sink = 0;
  return captured;
}

int g_numbers[10];
namespace {

thread_local int t_numbers[10];
int& Counter() {
  static int counters[4];
  return counters[2];
}

}  // namespace

Variables VariablesHere() { return {&g_numbers[3], &Counter(), &t_numbers[0]}; }

const Lines kLines = {kOuterLine, kMiddleLine, kInlinedLine, kInnermostLine};

}  // namespace guest
