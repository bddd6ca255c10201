// What a report about a failed request says in words and rows: the same wherever memprof tells it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/oom/oom.h"

namespace memprof::analysis {

// How call sites are named, "Step (train.cc:42)": that of a stack, and a group of SiteGroups.
struct SiteNamer {
  std::function<std::string(StackId)> stack;
  std::function<std::string(std::uint32_t)> group;
};

// "4 requests for memory failed, 3 of them but for a moment": of FindFailures, at least one.
std::string FailureCountWords(const std::vector<FailedRequest>& failures);

// Why it failed, in a sentence; before it, where memory leaks, what had filled the device.
std::string FailureVerdict(const FailureReport& report);

// One line: what a remedy is, with its figures.
std::string RemedyWords(const Session& session, const FailureReport& report, const Remedy& remedy,
                        const SiteNamer& site_name);

// What a byte of a device can be at the instant of a failure.
enum class SpaceKind {
  kBlocks,
  kRounding,
  kOwnPool,
  kOtherPools,
  kPrivatePools,
  kForeign,
  kCached,
  kDirect,  // of `layer`
  kReserve,
  kModules,
  kOthers,
  kUntracked,
  kFree,
};

// One row of the table that closes (docs/oom.md).
struct SpacePart {
  SpaceKind kind = SpaceKind::kFree;
  Layer layer = Layer::kUnspecified;  // of kDirect
  std::uint64_t bytes = 0;
  std::string words;
};

// The rows with any bytes, and those whose being 0 says something. They sum to the whole.
std::vector<SpacePart> SpaceParts(const FailureReport& report);

// The device's capacity, or what the log knows of where it does not know that.
std::uint64_t SpaceWhole(const DeviceSpace& space);

}  // namespace memprof::analysis
