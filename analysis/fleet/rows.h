// The tables of a fleet, for one log: a few thousand rows in place of millions of events. Names and
// order of the members are those of the columns in python/memprof/_fleet/schema.py, which says what
// each means. Sizes are bytes; nullopt, "" of a name, and a device of kNoDevice are null there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/base/run_identity.h"
#include "analysis/base/types.h"

namespace memprof::analysis {

using Known = std::optional<std::uint64_t>;

struct RunRow {
  RunIdentity identity;
  std::string host, program;
  std::uint32_t pid = 0;
  int device = kNoDevice;
  std::string device_name, device_uuid;
  Known device_bytes;
  bool simulated = false;
  std::uint32_t driver_version = 0;
  std::string framework, allocator_settings;
  std::optional<bool> expandable;
  std::string memprof_version;
  std::uint64_t start_unix = 0, duration = 0;
  std::string ended;
  std::uint64_t steps = 0;
  std::string steps_from;
  std::uint64_t events = 0, events_lost = 0;
  std::string losses;
  Known recorder_cost, peak, device_peak, allocated_peak, reserved_peak;
  std::optional<std::int64_t> peak_step;
  Known others_peak, unusable_at_peak;
  std::uint64_t failures = 0;
  std::string verdict;
};

// The last step ends with the log, and includes what the program does at its exit: its duration,
// and what was live at its end, are unknown.
struct StepRow {
  int device = kNoDevice;
  std::int64_t step = 0;
  TimeNs began = 0;
  std::optional<TimeNs> duration;
  std::uint64_t peak = 0;
  Known allocated_peak, reserved_peak, allocated_end, reserved_end;
};

// Memory that counts once: blocks, and driver memory that no allocator divides. A log without
// completed steps has one part, the whole, without numbers. Parts in which a site has nothing are
// left out.
struct SiteStepRow {
  int device = kNoDevice;
  std::string site;
  std::optional<std::int64_t> first_step, last_step;
  std::uint64_t born = 0, born_blocks = 0, alive = 0, alive_blocks = 0, at_peak = 0;
  bool operator==(const SiteStepRow&) const = default;
};

struct SiteRow {
  std::string site, key, name, function, file;
  int line = 0;
  std::string library;
};

// Of one device and moment, all sizes but that of "elsewhere" sum to the device, if its free memory
// is known. "elsewhere" is what of the others was not on the device.
struct LedgerRow {
  int device = kNoDevice;
  std::string moment, kind;
  std::uint64_t size = 0;
};

struct CategoryRow {
  int device = kNoDevice;
  std::string category;
  std::uint64_t size = 0, blocks = 0;
};

struct LeakRow {
  int device = kNoDevice;
  std::string site, tier, basis;
  double score = 0, slope = 0, slope_per_s = 0;
  std::uint64_t size = 0, blocks = 0;
  std::optional<std::int64_t> first_step;
  std::string holder;
};

struct OomRow {
  int device = kNoDevice;
  std::optional<std::int64_t> step;
  TimeNs occurred = 0;
  std::uint64_t asked = 0;
  Known free;
  std::string cause;
  bool recovered = false;
  std::string site, growth_site, remedy;
};

// Of a site: free memory beside its blocks, in the holes that FragmentationReport names.
struct FragmentationRow {
  int device = kNoDevice;
  std::uint64_t reserved = 0, allocated = 0, unusable = 0;
  std::string site;
  std::uint64_t pinned = 0;
};

struct AdviceRow {
  int device = kNoDevice;
  std::string kind;
  std::uint64_t gain = 0;
  std::string site, words;
};

struct FleetRows {
  std::string run_id;
  RunRow run;
  std::vector<StepRow> rank_step;
  std::vector<SiteStepRow> rank_site_step;
  std::vector<SiteRow> sites;
  std::vector<LedgerRow> ledger;
  std::vector<CategoryRow> categories;
  std::vector<LeakRow> leaks;
  std::vector<OomRow> ooms;
  std::vector<FragmentationRow> fragmentation;
  std::vector<AdviceRow> advice;
};

}  // namespace memprof::analysis
