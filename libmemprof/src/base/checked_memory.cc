// Memory is read by the kernel, which returns an error where a direct read would kill the program.
#include "libmemprof/src/base/checked_memory.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kPage = 4096;  // the smallest; larger ones are probed more often
constexpr std::uint64_t kEndOfUserSpace = std::uint64_t{1} << arch::kAddressBits;
constexpr std::size_t kMaskBytes = 8;

// rt_sigprocmask reads the new mask before it rejects an invalid operation. No sandbox forbids this
// call; some forbid process_vm_readv.
bool WordIsReadable(std::uint64_t address) {
  constexpr int kNothingToDo = ~0;
  const long result = syscall(SYS_rt_sigprocmask, kNothingToDo, address, nullptr, kMaskBytes);
  return result == 0 || errno != EFAULT;
}

// Not memcpy, because sanitizers check the accesses of memcpy, and this memory is not the
// program's.
__attribute__((no_sanitize("address", "thread", "undefined"))) void CopyBytes(std::uint64_t from,
                                                                              void* to,
                                                                              std::size_t bytes) {
  const auto* source = reinterpret_cast<const volatile unsigned char*>(from);
  auto* target = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < bytes; ++i) target[i] = source[i];
}

}  // namespace

bool IsReadable(std::uint64_t address, std::size_t bytes) {
  if (address < kPage || bytes == 0 || bytes > kEndOfUserSpace ||
      address > kEndOfUserSpace - bytes - kPage)
    return false;
  SystemSection section;
  const std::uint64_t last = (address + bytes - 1) & ~(kMaskBytes - 1);
  for (std::uint64_t at = address & ~(kMaskBytes - 1); at < last; at = (at | (kPage - 1)) + 1)
    if (!WordIsReadable(at)) return false;
  return WordIsReadable(last);
}

bool ReadChecked(std::uint64_t address, void* to, std::size_t bytes) {
  if (!IsReadable(address, bytes)) return false;
  CopyBytes(address, to, bytes);
  return true;
}

}  // namespace memprof::recorder
