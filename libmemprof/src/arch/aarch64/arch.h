// 64-bit ARM, little-endian, with or without pointer authentication.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder::arch {

inline constexpr char kName[] = "aarch64";
// Kernels with 52 bits place memory above 48 only where a program asks for it.
inline constexpr unsigned kAddressBits = 48;
inline constexpr std::size_t kMaxPageBytes = 65536;
inline constexpr bool kInterruptsOnProtect =
    false;  // other processors' caches of pages need no interrupt
inline constexpr bool kThreadsPointToThemselves = false;

inline void SpinHint() { asm volatile("yield" ::: "memory"); }

struct Registers {
  std::uint64_t pc;
  std::uint64_t sp;
  std::uint64_t fp;  // x29
};
__attribute__((always_inline)) inline Registers CaptureRegisters() {
  Registers here;
  // x30 counts as overwritten, so that the compiler has stored the return address before.
  asm volatile(
      "adr %0, 0f\n\t"
      "mov %1, sp\n\t"
      "mov %2, x29\n"
      "0:"
      : "=&r"(here.pc), "=&r"(here.sp), "=&r"(here.fp)
      :
      : "x30");
  return here;
}

// Functions may sign the return address that they store; the signature is in the bits above the
// address.
inline constexpr std::uint64_t kWordMask = (std::uint64_t{1} << kAddressBits) - 1;
constexpr std::uint64_t CodeAddress(std::uint64_t word) { return word & kWordMask; }

// A call leaves the return address in x30; functions that call others store it in their frame.
inline constexpr bool kCallPushesReturnAddress = false;
inline constexpr bool kCallFramesSignReturnAddresses = true;
// DWARF's numbers of registers (DWARF for the Arm 64-bit Architecture, 4.1), and the opcode
// DW_OP_breg of the frame pointer.
inline constexpr std::uint64_t kDwarfFramePointer = 29;
inline constexpr std::uint64_t kDwarfStackPointer = 31;
inline constexpr std::uint64_t kDwarfReturnAddress = 30;
inline constexpr std::uint8_t kDwarfBregFramePointer = 0x70 + kDwarfFramePointer;
// A rule's bits for the CFA's offset, in units of so many words (the stack pointer is a multiple of
// 16), and for that of saved registers. GCC stores them at the lower end of a frame, so both may be
// large: 32 KiB.
inline constexpr int kFrameCfaBits = 13;
inline constexpr int kFrameCfaUnit = 2;
inline constexpr int kFrameSavedBits = 13;

inline constexpr char kUnwinderFlush[] = "_Uaarch64_flush_cache";
inline constexpr char kUnwinderSpace[] = "_ULaarch64_local_addr_space";

}  // namespace memprof::recorder::arch
