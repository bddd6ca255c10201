// The code is in assembly, with a table of values behind it that is filled in for each program.
#include "cli/attach/internal/stub.h"

#include <time.h>

#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>

// Nothing of the thread's own memory is used: its stack may be as small as a coroutine's. The first
// calls of the system go without a stack; then the code has one of its own, in memory that it maps.
// Until that is there, no instruction may change the flags. What to restore at the end is in the
// table, except the flags and the vector registers, which are as large as the processor says; their
// header must be zero where XSAVE does not write it.
//
// Signals are blocked meanwhile, so the new thread begins with all of them blocked: no handler of
// the program runs on it. Calls find the stack aligned to 16 bytes.
//
// The memory begins with the address of this code, which says that the code is in use, and a word
// that is 1 once the interrupted thread has left it. The new thread unmaps it, as the last thing it
// does; before that it gives the other one, for its last instructions, the time of a short sleep.
asm(R"(
  .pushsection .rodata
  .set memprof_stub_stack_bytes, 262144
  .balign 16
memprof_stub_begin:
  jmp 1f
  .balign 8
memprof_stub_mark: .ascii "memprof2"
memprof_stub_place: .quad 0
memprof_stub_written: .quad 0
1:
  movl $9, %eax              # mmap(place, bytes, read and write, private, anonymous, no reserve)
  movq memprof_stub_place(%rip), %rdi
  movl $memprof_stub_stack_bytes, %esi
  movl $3, %edx
  movl $0x4022, %r10d
  movq $-1, %r8
  movl $0, %r9d
  syscall
  movq %rax, %rcx            # an error has its highest byte set
  bswapq %rcx
  movzbl %cl, %ecx
  jrcxz 2f
  jmp memprof_stub_leave
2:
  leaq memprof_stub_stack_bytes(%rax), %rsp
  pushfq
  cld
  movq %rax, %rbp
  leaq memprof_stub_begin(%rip), %rcx
  movq %rcx, (%rbp)
  movl $28, %eax             # madvise(MADV_DONTFORK)
  movq %rbp, %rdi
  movl $memprof_stub_stack_bytes, %esi
  movl $10, %edx
  syscall
  subq memprof_stub_vector_bytes(%rip), %rsp
  andq $-64, %rsp
  movq %rsp, %rbx
  xorl %eax, %eax
  movq %rax, 512(%rbx)
  movq %rax, 520(%rbx)
  movq %rax, 528(%rbx)
  movq %rax, 536(%rbx)
  movq %rax, 544(%rbx)
  movq %rax, 552(%rbx)
  movq %rax, 560(%rbx)
  movq %rax, 568(%rbx)
  movl $-1, %eax
  movl $-1, %edx
  xsave64 (%rbx)
  subq $32, %rsp
  movq $-1, (%rsp)
  movl $14, %eax             # rt_sigprocmask(SIG_SETMASK, all, before)
  movl $2, %edi
  movq %rsp, %rsi
  leaq 8(%rsp), %rdx
  movl $8, %r10d
  syscall
  leaq 16(%rsp), %rdi
  xorl %esi, %esi
  leaq memprof_stub_thread(%rip), %rdx
  movq %rbp, %rcx
  callq *memprof_stub_create(%rip)
  movl %eax, %r12d
  movl $14, %eax
  movl $2, %edi
  leaq 8(%rsp), %rsi
  xorl %edx, %edx
  movl $8, %r10d
  syscall
  movl $-1, %eax
  movl $-1, %edx
  xrstor64 (%rbx)
  leaq memprof_stub_stack_bytes-8(%rbp), %rsp
  testl %r12d, %r12d
  jnz 3f
  popfq
  movl $1, 8(%rbp)
  jmp memprof_stub_leave
3:
  popfq                      # no thread: munmap
  movl $11, %eax
  movq %rbp, %rdi
  movl $memprof_stub_stack_bytes, %esi
  syscall
memprof_stub_leave:
  movq memprof_stub_registers(%rip), %r15
  movq memprof_stub_registers+8(%rip), %r14
  movq memprof_stub_registers+16(%rip), %r13
  movq memprof_stub_registers+24(%rip), %r12
  movq memprof_stub_registers+32(%rip), %rbp
  movq memprof_stub_registers+40(%rip), %rbx
  movq memprof_stub_registers+48(%rip), %r11
  movq memprof_stub_registers+56(%rip), %r10
  movq memprof_stub_registers+64(%rip), %r9
  movq memprof_stub_registers+72(%rip), %r8
  movq memprof_stub_registers+80(%rip), %rax
  movq memprof_stub_registers+88(%rip), %rcx
  movq memprof_stub_registers+96(%rip), %rdx
  movq memprof_stub_registers+104(%rip), %rsi
  movq memprof_stub_registers+112(%rip), %rdi
  movq memprof_stub_registers+152(%rip), %rsp
  jmpq *memprof_stub_registers+128(%rip)

memprof_stub_thread:
  pushq %rbx
  pushq %r12
  subq $24, %rsp
  movq %rdi, %rbx
  movq %fs:16, %rdi          # pthread_self()
  callq *memprof_stub_detach(%rip)
  movq memprof_stub_library(%rip), %rdi
  movl $2, %esi              # RTLD_NOW
  callq *memprof_stub_dlopen(%rip)
  testq %rax, %rax
  jz 1f
  movq %rax, %rdi
  movq memprof_stub_function(%rip), %rsi
  callq *memprof_stub_dlsym(%rip)
  testq %rax, %rax
  jz 1f
  movq memprof_stub_settings(%rip), %rdi
  callq *%rax
1:
  movq $0, (%rsp)
  movq $50000000, 8(%rsp)
2:
  movl 8(%rbx), %r12d        # has it left?
  movl $35, %eax             # nanosleep
  movq %rsp, %rdi
  xorl %esi, %esi
  syscall
  testl %r12d, %r12d
  jz 2b
  movq %rbx, %rdi
  movl $memprof_stub_stack_bytes, %esi
  addq $24, %rsp
  popq %r12
  popq %rbx
  jmpq *memprof_stub_munmap(%rip)

  .balign 8
memprof_stub_vector_bytes: .quad 0
memprof_stub_create: .quad 0
memprof_stub_detach: .quad 0
memprof_stub_dlopen: .quad 0
memprof_stub_dlsym: .quad 0
memprof_stub_munmap: .quad 0
memprof_stub_library: .quad 0
memprof_stub_function: .quad 0
memprof_stub_settings: .quad 0
memprof_stub_registers: .zero 160
memprof_stub_end:
  .popsection
)");

extern "C" {
extern const char memprof_stub_begin[], memprof_stub_mark[], memprof_stub_vector_bytes[],
    memprof_stub_end[];
}

namespace memprof::cli {
namespace {

// In the order of the assembly. The head has the same place in every version of memprof.
struct StubHead {
  char mark[8];
  std::uint64_t place;       // where the code maps its memory, if nothing else is there
  std::uint64_t written_ns;  // CLOCK_MONOTONIC
};
struct StubTable {
  std::uint64_t vector_bytes, create, detach, dlopen, dlsym, munmap, library, function, settings;
  StubRegisters registers;
};
constexpr std::size_t kHeadAt = 8;
// Of a thread that is in the code and was not yet given the time to map its memory.
constexpr std::uint64_t kMostToBegin = 100'000'000;

// Of all registers that the system has switched on.
std::uint64_t VectorBytes() {
  unsigned bytes = 0, a = 0, c = 0, d = 0;
  constexpr unsigned kExtendedState = 0xd, kMost = 16384;
  return __get_cpuid_count(kExtendedState, 0, &a, &bytes, &c, &d) != 0 ? bytes : kMost;
}

std::uint64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

bool HasStub() { return true; }

std::string MakeStub(const StubParts& parts, std::uint64_t address) {
  static constexpr char kFunction[] = "memprof_attach";
  std::string stub(memprof_stub_begin, memprof_stub_end);
  const auto put = [&](const char* label, const auto& value) {
    std::memcpy(&stub[static_cast<std::size_t>(label - memprof_stub_begin)], &value, sizeof value);
  };
  StubHead head;
  std::memcpy(head.mark, memprof_stub_mark, sizeof head.mark);
  head.place = parts.place;
  head.written_ns = MonotonicNs();
  StubTable table{VectorBytes(), parts.pthread_create, parts.pthread_detach,
                  parts.dlopen,  parts.dlsym,          parts.munmap};
  const auto add = [&](const char* text, std::size_t length) {
    const std::uint64_t at = address + stub.size();
    stub.append(text, length + 1);
    return at;
  };
  table.library = add(parts.library.c_str(), parts.library.size());
  table.function = add(kFunction, sizeof kFunction - 1);
  table.settings = add(parts.settings.c_str(), parts.settings.size());
  table.registers = parts.registers;
  put(memprof_stub_mark, head);
  put(memprof_stub_vector_bytes, table);
  return stub;
}

bool StubIsInUse(std::uint64_t address, const ReadMemory& read) {
  StubHead head;
  std::uint64_t user = 0;
  if (!read(address + kHeadAt, &head, sizeof head) ||
      std::memcmp(head.mark, memprof_stub_mark, sizeof head.mark) != 0)
    return false;
  return MonotonicNs() - head.written_ns < kMostToBegin ||
         (read(head.place, &user, sizeof user) && user == address);
}

}  // namespace memprof::cli
#else
namespace memprof::cli {

bool HasStub() { return false; }
std::string MakeStub(const StubParts&, std::uint64_t) { return ""; }
bool StubIsInUse(std::uint64_t, const ReadMemory&) { return false; }

}  // namespace memprof::cli
#endif
