// The code is in assembly, with a table of values behind it that is filled in for each program.
#include "cli/attach/internal/stub.h"

#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>

// Memory below the stack pointer is used by functions that call none (128 bytes). The state of the
// vector registers is as large as the processor says; its header must be zero where XSAVE does not
// write it. Signals are blocked meanwhile, so the new thread begins with all of them blocked: no
// handler of the program runs on it. Calls find the stack aligned to 16 bytes.
asm(R"(
  .pushsection .rodata
  .balign 16
memprof_stub_begin:
  leaq -128(%rsp), %rsp
  pushfq
  pushq %rax
  pushq %rcx
  pushq %rdx
  pushq %rbx
  pushq %rbp
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, %rbp
  cld
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
  xorl %ecx, %ecx
  callq *memprof_stub_create(%rip)
  movl $14, %eax
  movl $2, %edi
  leaq 8(%rsp), %rsi
  xorl %edx, %edx
  movl $8, %r10d
  syscall
  movl $-1, %eax
  movl $-1, %edx
  xrstor64 (%rbx)
  movq %rbp, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rbp
  popq %rbx
  popq %rdx
  popq %rcx
  popq %rax
  popfq
  movq memprof_stub_stack(%rip), %rsp
  jmpq *memprof_stub_resume(%rip)

memprof_stub_thread:
  pushq %rbp
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
  xorl %eax, %eax
  popq %rbp
  retq

  .balign 8
memprof_stub_vector_bytes: .quad 0
memprof_stub_create: .quad 0
memprof_stub_detach: .quad 0
memprof_stub_dlopen: .quad 0
memprof_stub_dlsym: .quad 0
memprof_stub_stack: .quad 0
memprof_stub_resume: .quad 0
memprof_stub_library: .quad 0
memprof_stub_function: .quad 0
memprof_stub_settings: .quad 0
memprof_stub_end:
  .popsection
)");

extern "C" {
extern const char memprof_stub_begin[], memprof_stub_vector_bytes[], memprof_stub_end[];
}

namespace memprof::cli {
namespace {

// In the order of the assembly.
struct StubTable {
  std::uint64_t vector_bytes, create, detach, dlopen, dlsym, stack, resume, library, function,
      settings;
};

// Of all registers that the system has switched on.
std::uint64_t VectorBytes() {
  unsigned bytes = 0, a = 0, c = 0, d = 0;
  constexpr unsigned kExtendedState = 0xd, kMost = 16384;
  return __get_cpuid_count(kExtendedState, 0, &a, &bytes, &c, &d) != 0 ? bytes : kMost;
}

}  // namespace

bool HasStub() { return true; }

std::string MakeStub(const StubParts& parts, std::uint64_t address) {
  static constexpr char kFunction[] = "memprof_attach";
  std::string stub(memprof_stub_begin, memprof_stub_end);
  const auto table_at = static_cast<std::size_t>(memprof_stub_vector_bytes - memprof_stub_begin);
  StubTable table{VectorBytes(), parts.pthread_create, parts.pthread_detach, parts.dlopen,
                  parts.dlsym,   parts.stack,          parts.resume};
  const auto add = [&](const char* text, std::size_t length) {
    const std::uint64_t at = address + stub.size();
    stub.append(text, length + 1);
    return at;
  };
  table.library = add(parts.library.c_str(), parts.library.size());
  table.function = add(kFunction, sizeof kFunction - 1);
  table.settings = add(parts.settings.c_str(), parts.settings.size());
  std::memcpy(&stub[table_at], &table, sizeof table);
  return stub;
}

}  // namespace memprof::cli
#else
namespace memprof::cli {

bool HasStub() { return false; }
std::string MakeStub(const StubParts&, std::uint64_t) { return ""; }

}  // namespace memprof::cli
#endif
