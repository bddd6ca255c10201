// Reads the loader's cache, and looks into folders.
#include "cli/doctor/internal/libraries.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace memprof::cli::doctor {
namespace {

constexpr std::size_t kMostCache = 64 << 20;

// The file's format: a header, entries, and strings, whose offsets count from the header.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
struct CacheHeader {
  char magic[20];
  std::uint32_t entries, string_bytes, unused[5];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name, path, unused[3];
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);
constexpr std::int32_t kX86 = 0x0303, kArm = 0x0a03;  // flags: glibc 2, and the architecture

std::string TextAt(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return "";
  const std::size_t end = bytes.find('\0', offset);
  return end == std::string_view::npos ? "" : std::string(bytes.substr(offset, end - offset));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ReadLoaderCache(std::string_view bytes, bool arm) {
  // Older systems have the cache of an older format in front of it.
  const std::size_t begin = bytes.find(kMagic);
  if (begin == std::string_view::npos) return {};
  bytes.remove_prefix(begin);
  CacheHeader header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t most = (bytes.size() - sizeof header) / sizeof(CacheEntry);
  std::vector<std::pair<std::string, std::string>> libraries;
  for (std::size_t i = 0; i < std::min<std::size_t>(header.entries, most); ++i) {
    CacheEntry entry;
    std::memcpy(&entry, bytes.data() + sizeof header + i * sizeof entry, sizeof entry);
    std::string name = TextAt(bytes, entry.name), path = TextAt(bytes, entry.path);
    if (entry.flags == (arm ? kArm : kX86) && !name.empty() && absl::StartsWith(path, "/"))
      libraries.emplace_back(std::move(name), std::move(path));
  }
  return libraries;
}

void AddOthers(const Machine& machine, const std::vector<std::string>& more,
               std::vector<std::string>* paths) {
  for (const std::string& path : more) {
    const std::string file = machine.Canonical(path);
    const bool known = std::any_of(paths->begin(), paths->end(), [&](const std::string& other) {
      return machine.Canonical(other) == file;
    });
    if (!file.empty() && !known) paths->push_back(path);
  }
}

std::vector<std::string> LibrariesIn(const Machine& machine,
                                     const std::vector<std::string>& folders,
                                     const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& folder : folders)
    for (const std::string& name : machine.Names(folder))
      if (absl::StartsWith(name, prefix)) AddOthers(machine, {folder + "/" + name}, &found);
  return found;
}

std::vector<std::string> LibrariesOnPath(const Machine& machine, const std::string& prefix) {
  std::vector<std::string> folders =
      absl::StrSplit(machine.Variable("LD_LIBRARY_PATH"), absl::ByAnyChar(":;"), absl::SkipEmpty());
  std::vector<std::string> found = LibrariesIn(machine, folders, prefix);
  const std::string cache = machine.Read("/etc/ld.so.cache", kMostCache);
  for (const auto& [name, path] : ReadLoaderCache(cache, machine.is_arm()))
    if (absl::StartsWith(name, prefix)) AddOthers(machine, {path}, &found);
  folders = {"/lib/" + machine.triplet(),
             "/usr/lib/" + machine.triplet(),
             "/lib64",
             "/usr/lib64",
             "/lib",
             "/usr/lib"};
  AddOthers(machine, LibrariesIn(machine, folders, prefix), &found);
  return found;
}

std::vector<std::string> ToolkitFolders(const Machine& machine) {
  std::vector<std::string> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (const std::string folder = machine.Variable(name); !folder.empty())
      folders.push_back(folder);
  for (const std::string& name : machine.Names("/usr/local"))
    if (absl::StartsWith(name, "cuda")) folders.push_back("/usr/local/" + name);
  return folders;
}

}  // namespace memprof::cli::doctor
