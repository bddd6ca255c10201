// The contract of arch/: what the recorder relies on, on every architecture.
#include "libmemprof/src/arch/arch.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <unwind.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "libmemprof/src/loader/foreign_call.h"

namespace memprof::recorder {
namespace {

TEST(Arch, IsTheOneOfThisMachine) {
  utsname machine;
  ASSERT_EQ(uname(&machine), 0);
  EXPECT_STREQ(arch::kName, machine.machine);
}

TEST(Arch, AddressesAndPagesAreWithinTheLimits) {
  const auto heap = std::make_unique<int>(1);
  const int here = 2;
  for (const void* at : {static_cast<const void*>(heap.get()), static_cast<const void*>(&here),
                         reinterpret_cast<const void*>(&uname)})
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(at) >> arch::kAddressBits, 0u) << at;
  EXPECT_EQ(arch::kMaxPageBytes % static_cast<std::size_t>(getpagesize()), 0u);
}

struct Place {
  std::uint64_t pc;
  std::uint64_t cfa;
};
_Unwind_Reason_Code AddPlace(_Unwind_Context* context, void* data) {
  auto* place = static_cast<Place*>(data);
  // The first frame is that of the function that asks; its CFA is known at the next one.
  if (place->pc != 0) {
    place->cfa = _Unwind_GetCFA(context);
    return _URC_END_OF_STACK;
  }
  place->pc = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

__attribute__((noinline)) void Compare() {
  const arch::Registers here = arch::CaptureRegisters();
  Place place{};
  _Unwind_Backtrace(AddPlace, &place);
  EXPECT_GT(place.pc, here.pc);
  EXPECT_LT(place.pc, here.pc + 512);
  EXPECT_EQ(here.sp % 8, 0u);
  EXPECT_LE(here.sp, place.cfa);
  EXPECT_LT(place.cfa, here.sp + 4096);
}
TEST(Arch, CapturesTheRegistersOfTheCaller) { Compare(); }

TEST(Arch, AnAddressOfCodeIsItself) {
  const auto here = reinterpret_cast<std::uint64_t>(&Compare);
  EXPECT_EQ(arch::CodeAddress(here), here);
  EXPECT_EQ(here & arch::kWordMask, here);
  if constexpr (arch::kCallFramesSignReturnAddresses) {
    EXPECT_EQ(arch::CodeAddress(here | std::uint64_t{0x5a5a} << 48), here);
  }
}

// The bits above an address are those that a signature may change.
TEST(Arch, TheLimitsAgree) {
  EXPECT_EQ(arch::CodeAddress(~std::uint64_t{0}), arch::kWordMask);
  EXPECT_GE(arch::kWordMask, (std::uint64_t{1} << arch::kAddressBits) - 1);
}

struct TwoWords {
  std::uint64_t first, second;
};
TwoWords Both(std::uint64_t argument) { return {argument, ~argument}; }
TwoWords Throws(std::uint64_t argument) { throw std::runtime_error(std::to_string(argument)); }
signed char Small(signed char argument) { return static_cast<signed char>(argument - 1); }

TEST(ForeignCall, ReturnsTwoRegisters) {
  ASSERT_TRUE(CanCatch());
  TwoWords result{};
  ASSERT_TRUE(CallForeign(Both, std::uint64_t{0x0123456789abcdef}, &result));
  EXPECT_EQ(result.first, 0x0123456789abcdefu);
  EXPECT_EQ(result.second, ~std::uint64_t{0x0123456789abcdef});
  signed char small = 0;
  ASSERT_TRUE(CallForeign(Small, static_cast<signed char>(-3), &small));
  EXPECT_EQ(small, -4);
}

// More values that live across the call than there is place for elsewhere: the compiler keeps them
// in the registers that a callee preserves.
__attribute__((noinline)) bool KeepsRegisters(TwoWords* result) {
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
  const bool returned = CallForeign(Throws, std::uint64_t{5}, result);
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
  return !returned && a == 1 && b == 2 && c == 3 && d == 4 && e == 5;
}

TEST(ForeignCall, EndsAnException) {
  ASSERT_TRUE(CanCatch());
  for (int i = 0; i < 3; ++i) {
    TwoWords result{7, 8};
    EXPECT_TRUE(KeepsRegisters(&result));
    EXPECT_EQ(result.first, 7u);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
}

}  // namespace
}  // namespace memprof::recorder
