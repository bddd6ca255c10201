// x86-64 with four-level page tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder::arch {

inline constexpr char kName[] = "x86_64";
inline constexpr unsigned kAddressBits = 47;
inline constexpr std::size_t kMaxPageBytes = 4096;
inline constexpr bool kInterruptsOnProtect = true;
inline constexpr bool kThreadsPointToThemselves = true;

inline void SpinHint() { __builtin_ia32_pause(); }

struct Registers {
  std::uint64_t pc;
  std::uint64_t sp;
  std::uint64_t fp;  // rbp
};
__attribute__((always_inline)) inline Registers CaptureRegisters() {
  Registers here;
  asm volatile(
      "leaq 0f(%%rip), %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2\n"
      "0:"
      : "=&r"(here.pc), "=&r"(here.sp), "=r"(here.fp));
  return here;
}

constexpr std::uint64_t CodeAddress(std::uint64_t word) { return word; }
inline constexpr std::uint64_t kWordMask = ~std::uint64_t{0};

// A call pushes the return address: it is always below the CFA.
inline constexpr bool kCallPushesReturnAddress = true;
inline constexpr bool kCallFramesSignReturnAddresses = false;
// DWARF's numbers of registers (System V ABI, figure 3.36), and the opcode DW_OP_breg of the frame
// pointer.
inline constexpr std::uint64_t kDwarfFramePointer = 6;
inline constexpr std::uint64_t kDwarfStackPointer = 7;
inline constexpr std::uint64_t kDwarfReturnAddress = 16;
inline constexpr std::uint8_t kDwarfBregFramePointer = 0x70 + kDwarfFramePointer;
// A rule's bits for the CFA's offset, in units of so many words, and for that of saved registers.
inline constexpr int kFrameCfaBits = 16;
inline constexpr int kFrameCfaUnit = 1;
inline constexpr int kFrameSavedBits = 8;

inline constexpr char kUnwinderFlush[] = "_Ux86_64_flush_cache";
inline constexpr char kUnwinderSpace[] = "_ULx86_64_local_addr_space";

}  // namespace memprof::recorder::arch
