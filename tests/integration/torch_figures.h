// Figures of PyTorch's allocator: printed by a guest, and from a log.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "tests/integration/harness.h"

namespace memprof::testing {

struct Figures {
  std::uint64_t peak = 0, live = 0, peak_reserved = 0, reserved = 0;
  bool operator==(const Figures&) const = default;
};
inline void PrintTo(const Figures& f, std::ostream* out) {
  *out << f.peak << ' ' << f.live << ' ' << f.peak_reserved << ' ' << f.reserved;
}

// By device, printed by the allocator itself.
inline std::map<int, Figures> PrintedFigures(const GuestResult& guest) {
  std::map<int, Figures> all;
  for (const std::string& line : guest.lines()) {
    std::istringstream words(line);
    std::string kind;
    int device = 0;
    Figures figures;
    if (words >> kind >> device >> figures.peak >> figures.live >> figures.peak_reserved >>
            figures.reserved &&
        kind == "figures")
      all[device] = figures;
  }
  return all;
}

// The same from the log. Every end has a beginning, and every block is in driver memory that became
// a segment.
inline std::map<int, Figures> RecordedFigures(const Log& log) {
  std::map<int, Figures> all;
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> blocks, segments;
  for (const Event& event : log.ByTime()) {
    if (event.layer != log::LAYER_BLOCK && event.layer != log::LAYER_SEGMENT) continue;
    const bool block = event.layer == log::LAYER_BLOCK;
    auto& live = block ? blocks : segments;
    Figures& figures = all[event.device];
    std::uint64_t& sum = block ? figures.live : figures.reserved;
    std::uint64_t& most = block ? figures.peak : figures.peak_reserved;
    const std::pair<int, std::uint64_t> key(event.device, event.address);
    if (event.op == log::OP_ALLOC) {
      EXPECT_FALSE(live.contains(key)) << "allocated twice";
      live[key] = event.bytes;
      sum += event.bytes;
      most = std::max(most, sum);
      if (!block) continue;
      const auto segment = segments.upper_bound(key);
      EXPECT_TRUE(segment != segments.begin() && std::prev(segment)->first.first == event.device &&
                  event.address < std::prev(segment)->first.second + std::prev(segment)->second)
          << "a block without a segment";
    } else if (event.op == log::OP_FREE) {
      EXPECT_TRUE(live.contains(key)) << "never allocated";
      EXPECT_EQ(live[key], event.bytes);
      sum -= live[key];
      live.erase(key);
    }
  }
  return all;
}

inline std::uint64_t Counted(const Log& log, const std::string& name) {
  const auto found = log.counters.find(name);
  return found == log.counters.end() ? 0 : found->second;
}

inline GuestResult RunAllocator(const TempDirectory& directory, std::vector<std::string> arguments,
                                std::map<std::string, std::string> environment = {}) {
  GuestOptions options{.arguments = std::move(arguments), .directory = directory.path()};
  options.environment = std::move(environment);
  options.environment.emplace("SIMCUDA", "devices=4,memory=1GiB");
  return RunGuest("guest_torch_allocator", options);
}

// Every report arrived once, unchanged.
inline void ExpectForwarded(const GuestResult& guest) {
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.err, "");
  int seen = 0;
  for (const std::string& line : guest.lines()) {
    EXPECT_NE(line, "digest other");
    std::istringstream words(line);
    std::string kind;
    std::uint64_t arrived = 0, called = 1;
    if (!(words >> kind >> arrived >> called) || kind != "seen") continue;
    EXPECT_EQ(arrived, called);
    EXPECT_GT(called, 0u);
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace memprof::testing
