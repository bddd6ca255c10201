// The processor, the kernel, the C library, shared memory, limits.
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analysis/base/units.h"
#include "cli/doctor/internal/rows.h"
#include "cli/run/elf_file.h"

namespace memprof::cli::doctor {
namespace {

// The recorder takes at most a quarter of the free shared memory, and needs 1 MiB (16 slabs); its
// largest ring has 72 MiB.
constexpr std::uint64_t kLeastFree = 4ull << 20, kEnoughFree = 4 * (72ull << 20);

std::string AddressBits(const Machine& machine) {
  constexpr absl::string_view kKey = "bits physical, ";
  const std::string text = machine.Read("/proc/cpuinfo");
  const std::size_t at = text.find(std::string(kKey));
  const int bits = at == std::string::npos ? 0 : std::atoi(text.c_str() + at + kKey.size());
  return bits <= 0 ? "" : absl::StrCat(", addresses of ", bits, " bits");
}

std::string LoaderOf(const Machine& machine) {
  for (const char* path : {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"})
    if (absl::StrContains(path, "aarch64") == machine.is_arm() && machine.Exists(path)) return path;
  return "";
}

std::string MuslLoader(const Machine& machine) {
  for (const std::string& name : machine.Names("/lib"))
    if (absl::StartsWith(name, "ld-musl-")) return "/lib/" + name;
  return "";
}

}  // namespace

Row ArchitectureRow(const Machine& machine) {
  const std::string name = machine.architecture == "x86_64" ? "x86-64" : machine.architecture;
  Row row{"architecture", State::kOk,
          absl::StrCat(name, ", pages of ", machine.page_bytes >> 10, " KiB", AddressBits(machine)),
          ""};
  if (name == "x86-64" || machine.is_arm()) return row;
  row.state = State::kProblem;
  row.remedy = "memprof records on x86-64 and aarch64";
  return row;
}

Row KernelRow(const Machine& machine) { return {"kernel", State::kOk, machine.kernel, ""}; }

Row LibcRow(const Machine& machine, const Installation& installation) {
  const std::string loader = LoaderOf(machine), musl = MuslLoader(machine);
  if (loader.empty() && !musl.empty())
    return {"C library", State::kProblem, absl::StrCat("musl (", musl, "), no glibc"),
            "the recorder needs glibc: use an image such as Debian's"};
  const Row unknown{"C library", State::kNote, "no glibc at its usual place",
                    "memprof doctor -- PROGRAM checks the one that PROGRAM uses"};
  if (loader.empty()) return unknown;
  const ElfFile loader_file(machine.At(loader));
  if (!loader_file.valid()) return unknown;
  const std::string path = LibraryOfLoader(machine.At(loader), loader_file);
  if (path.empty()) return unknown;
  const ElfFile library(path);
  const std::string found =
      absl::StrCat("glibc ", ReleaseOfGlibc(path), " (", machine.Without(path), ")");
  const ElfFile recorder(machine.At(installation.recorder));
  const std::set<std::string> missing = recorder.valid() && recorder.SameMachine(library)
                                            ? MissingVersions(recorder, library)
                                            : std::set<std::string>();
  if (missing.empty()) return {"C library", State::kOk, found, ""};
  return {"C library", State::kProblem,
          absl::StrCat(found, "; the recorder needs ", HighestVersion(missing)),
          "use an image with a newer glibc, or build memprof here"};
}

Row SharedMemoryRow(const Machine& machine) {
  const std::string named = machine.Variable("MEMPROF_SHM");
  const std::string folder = absl::StartsWith(named, "/") ? named : "/dev/shm";
  const std::string place = absl::StrCat(folder, folder == named ? " (MEMPROF_SHM)" : "");
  const char* other =
      "set MEMPROF_SHM to a folder in memory; without, the buffers lie beside the "
      "log, or are lost if the program is killed";
  if (!machine.Exists(folder))
    return {"shared memory", State::kNote, place + " does not exist", other};
  if (!machine.Accessible(folder, W_OK | X_OK))
    return {"shared memory", State::kNote, place + " is not writable", other};
  const std::uint64_t bytes = machine.free_bytes(machine.At(folder));
  const std::string found = absl::StrCat(place, ", ", analysis::FormatBytes(bytes), " free");
  if (bytes >= kEnoughFree) return {"shared memory", State::kOk, found, ""};
  if (bytes < kLeastFree) return {"shared memory", State::kNote, found, other};
  return {"shared memory", State::kNote, found,
          "the recorder uses a quarter of it, so its buffers are small; in a container: docker run "
          "--shm-size=1g or --ipc=host"};
}

Row LimitsRow(const Machine& machine) {
  Row row{"limits", State::kOk, "none on files and address space", ""};
  const auto add = [&row](const std::string& found, const std::string& remedy) {
    const bool first = row.state == State::kOk;
    row.state = State::kNote;
    row.found = first ? found : absl::StrCat(row.found, "; ", found);
    row.remedy = first ? remedy : absl::StrCat(row.remedy, "; ", remedy);
  };
  if (machine.file_limit != kNoLimit)
    add(absl::StrCat("files of at most ", analysis::FormatBytes(machine.file_limit)),
        "recording ends when a log has that size: ulimit -f unlimited");
  if (machine.address_limit != kNoLimit)
    add(absl::StrCat("address space of at most ", analysis::FormatBytes(machine.address_limit)),
        "CUDA reserves much of it: ulimit -v unlimited");
  return row;
}

Row PtraceRow(const Machine& machine) {
  const std::string path = "/proc/sys/kernel/yama/ptrace_scope";
  const std::string scope(absl::StripAsciiWhitespace(machine.Read(path, 16)));
  if (scope.empty() || scope == "0")
    return {"ptrace", State::kOk, "a user may attach to their own programs", ""};
  const char* meaning = scope == "1"   ? "only a parent may attach to a program"
                        : scope == "2" ? "only root may attach to a program"
                                       : "nobody may attach to a program";
  return {"ptrace", State::kNote, absl::StrCat(meaning, " (ptrace_scope ", scope, ")"),
          "memprof attach needs root then, or kernel.yama.ptrace_scope=0 set by root; memprof run "
          "attaches to nothing"};
}

}  // namespace memprof::cli::doctor
