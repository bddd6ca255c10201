#include "cli/attach/internal/page.h"

#include <errno.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cli/console/text.h"

namespace memprof::cli {
namespace {

constexpr char kSymbol[] = "memprof_attach_page";

using Page = log::AttachPage;

// By any of its threads: the one that was used before may have ended.
template <typename Transfer>
absl::Status Move(const Target& target, std::uint64_t address, void* here, std::size_t bytes,
                  Transfer transfer) {
  const pid_t pid = target.pid();
  const iovec local{here, bytes};
  const iovec remote{reinterpret_cast<void*>(address), bytes};
  std::vector<pid_t> threads = ThreadsOf(pid);
  threads.insert(threads.begin(), target.task());
  errno = ESRCH;
  for (const pid_t thread : threads) {
    if (transfer(thread, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes))
      return absl::OkStatus();
    if (errno != ESRCH) break;
  }
  if (errno == EPERM || errno == EACCES)
    return absl::PermissionDeniedError(Cat("process ", pid, " does not let itself be read"));
  if (errno == ESRCH) return absl::NotFoundError(Cat("process ", pid, " has ended"));
  return absl::UnavailableError(
      Cat("the memory of process ", pid, " cannot be reached: ", std::strerror(errno)));
}

template <std::size_t kBytes>
std::string Text(const char (&text)[kBytes]) {
  return std::string(text, strnlen(text, kBytes));
}

}  // namespace

absl::StatusOr<AttachReport> ReadPage(const Target& target) {
  AttachReport report;
  const std::uint64_t address = target.SymbolOfRecorder(kSymbol);
  if (address == 0) return report;
  Page page;
  if (absl::Status read = Move(target, address, &page, sizeof page, process_vm_readv); !read.ok())
    return read;
  const auto phase = static_cast<AttachPhase>(page.state);
  if (phase == AttachPhase::kNever) return report;
  if (page.layout != log::kAttachLayout || phase > AttachPhase::kFailed)
    return absl::FailedPreconditionError(
        Cat("process ", target.pid(),
            " has the recorder of another version of memprof: ", target.recorder()));
  report.phase = phase;
  report.log = Text(page.log);
  report.error = Text(page.error);
  return report;
}

absl::Status WantEnd(const Target& target) {
  const std::uint64_t address = target.SymbolOfRecorder(kSymbol);
  std::uint32_t wanted = 1;
  return address == 0 ? absl::NotFoundError("no recorder")
                      : Move(target, address + offsetof(Page, end_wanted), &wanted, sizeof wanted,
                             process_vm_writev);
}

}  // namespace memprof::cli
