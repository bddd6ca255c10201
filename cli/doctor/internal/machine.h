// What the checks know about a machine: files, environment, kernel. Tests make machines of folders.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "cli/doctor/internal/started.h"

namespace memprof::cli::doctor {

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

struct Machine {
  std::string root;               // precedes every path; "" for this machine
  std::string program_directory;  // of memprof, without the root
  std::map<std::string, std::string> environment;
  std::string architecture, kernel;  // as uname has them
  std::uint64_t page_bytes = 4096;
  std::uint64_t file_limit = kNoLimit, address_limit = kNoLimit;
  // Starts a program with these variables added to the environment.
  std::function<Started(const std::vector<std::string>& arguments,
                        const std::map<std::string, std::string>& added)>
      start;
  std::function<std::uint64_t(const std::string& folder)> free_bytes;

  bool is_arm() const { return architecture == "aarch64"; }
  // "x86_64-linux-gnu", as Debian names its folders.
  std::string triplet() const { return architecture + "-linux-gnu"; }

  std::string At(const std::string& path) const { return root + path; }
  // A text without the root in its paths.
  std::string Without(const std::string& text) const;
  std::string Variable(const std::string& name) const;
  bool Exists(const std::string& path) const;
  bool Accessible(const std::string& path, int mode) const;
  // Where links lead; "" if nowhere.
  std::string Canonical(const std::string& path) const;
  // The start of a regular file, at most `most` bytes; "" if it cannot be read. Never waits.
  std::string Read(const std::string& path, std::size_t most = 64 << 10) const;
  // Names in a folder, sorted.
  std::vector<std::string> Names(const std::string& folder) const;
  // The environment's PATH, below the root.
  std::string SearchPath() const;
};

Machine ThisMachine();

}  // namespace memprof::cli::doctor
