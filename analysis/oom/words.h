// The text of a report about a failed request, for all its readers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/oom/oom.h"

namespace memprof::analysis {

// How call sites are named, "Step (train.cc:42)": that of a stack, and that of a group of
// SiteGroups.
struct SiteNamer {
  std::function<std::string(StackId)> stack;
  std::function<std::string(std::uint32_t)> group;
};

// "4 requests for memory failed, 3 of them only temporarily": for the result of FindFailures, at
// least one.
std::string FailureCountWords(const std::vector<FailedRequest>& failures);

// The cause in a sentence; if memory leaks, preceded by what had filled the device.
std::string FailureVerdict(const FailureReport& report);

// One line: the remedy with its figures.
std::string RemedyWords(const Session& session, const FailureReport& report, const Remedy& remedy,
                        const SiteNamer& site_name);

// What a byte of a device is used for at a failure.
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

// One row of the table whose sum is the device (docs/oom.md).
struct SpacePart {
  SpaceKind kind = SpaceKind::kFree;
  Layer layer = Layer::kUnspecified;  // of kDirect
  std::uint64_t bytes = 0;
  std::string words;
};

// The rows with bytes, and those whose 0 is informative. They sum to the whole.
std::vector<SpacePart> SpaceParts(const FailureReport& report);

// The device's capacity, or all known use if the capacity is unknown.
std::uint64_t SpaceWhole(const DeviceSpace& space);

}  // namespace memprof::analysis
