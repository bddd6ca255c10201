// By CPython's own description of its structures (Include/internal/pycore_debug_offsets.h), with
// which its memory begins. What is read may be anything: an address that is wrong cannot be written
// to, or changes nothing outside of the program that is attached to anyway.
#include "cli/attach/internal/python_door.h"

#include <sys/uio.h>

#include <array>
#include <cstring>

#include "cli/console/text.h"

namespace memprof::cli {
namespace {

constexpr std::size_t kMostWords = 128;
using Description = std::array<std::uint64_t, kMostWords>;

// Words of the description, each an offset in the structure that the comment names.
constexpr std::size_t kVersion = 1, kInterpreters = 5 /* of all */,
                      kMainThread = 10 /* interpreter */;
struct VersionWords {  // ... of which the place changes
  std::uint64_t minor;
  std::size_t first;  // eval_breaker, remote_debugger_support, remote_debugging_enabled, ...
};
constexpr VersionWords kWords[] = {{14, 89}, {15, 105}};
constexpr std::uint64_t kPleaseStop = 1 << 5;  // of the breaker: look what there is to do
constexpr std::uint64_t kMostOffset = 1 << 24;

template <typename Value>
bool Get(pid_t pid, std::uint64_t address, Value* value) {
  const iovec local{value, sizeof *value}, remote{reinterpret_cast<void*>(address), sizeof *value};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof *value);
}

bool Put(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes) {
  const iovec local{const_cast<void*>(from), bytes},
      remote{reinterpret_cast<void*>(address), bytes};
  return process_vm_writev(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

const VersionWords* WordsOf(const Description& words) {
  if (std::memcmp(words.data(), "xdebugpy", 8) != 0) return nullptr;
  for (const VersionWords& known : kWords)
    if (words[kVersion] >> 24 == 3 && (words[kVersion] >> 16 & 0xff) == known.minor) return &known;
  return nullptr;
}

}  // namespace

std::optional<PythonDoor> PythonDoor::Find(const Target& target) {
  const pid_t pid = target.task();
  const std::uint64_t runtime = target.SymbolOfPython("_PyRuntime");
  Description words{};
  if (runtime == 0 || !Get(pid, runtime, &words)) return std::nullopt;
  const VersionWords* at = WordsOf(words);
  if (at == nullptr) return std::nullopt;
  const auto [breaker, support, enabled, pending, script, most_script] =
      *reinterpret_cast<const std::array<std::uint64_t, 6>*>(&words[at->first]);
  for (const std::uint64_t offset : {breaker, support, enabled, pending, script, most_script})
    if (offset >= kMostOffset) return std::nullopt;
  std::uint64_t interpreter = 0, thread = 0;
  std::int32_t allowed = 0, asked = 0;
  if (!Get(pid, runtime + words[kInterpreters], &interpreter) || interpreter == 0 ||
      !Get(pid, interpreter + words[kMainThread], &thread) || thread == 0 ||
      !Get(pid, interpreter + enabled, &allowed) || allowed != 1 ||
      !Get(pid, thread + support + pending, &asked) || asked != 0)  // by somebody else
    return std::nullopt;
  PythonDoor door(pid);
  door.breaker_ = thread + breaker;
  door.pending_ = thread + support + pending;
  door.script_ = thread + support + script;
  door.most_script_ = most_script;
  return door;
}

// As CPython does it. A bit that the program sets in the breaker between our two calls is lost, as
// it is there: Python sets those again that matter.
absl::Status PythonDoor::Ask(const std::string& script) const {
  const std::int32_t one = 1;
  std::uint64_t breaker = 0;
  if (script.size() + 1 > most_script_) return absl::OutOfRangeError("the path is too long");
  if (!Put(pid_, script_, script.c_str(), script.size() + 1) ||
      !Put(pid_, pending_, &one, sizeof one) || !Get(pid_, breaker_, &breaker))
    return absl::UnavailableError(Cat("the Python of process ", pid_, " cannot be asked"));
  breaker |= kPleaseStop;
  return Put(pid_, breaker_, &breaker, sizeof breaker)
             ? absl::OkStatus()
             : absl::UnavailableError(Cat("the Python of process ", pid_, " cannot be asked"));
}

bool PythonDoor::Answered() const {
  std::int32_t asked = 0;
  return !Get(pid_, pending_, &asked) || asked == 0;
}

void PythonDoor::Withdraw() const {
  const std::int32_t zero = 0;
  if (!Answered()) Put(pid_, pending_, &zero, sizeof zero);
}

}  // namespace memprof::cli
