// The text and rows of a report about a failed request.
#include "analysis/oom/words.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"

namespace memprof::analysis {
namespace {

std::string InPieces(const char* what, const FreePieces& free) {
  return absl::StrCat(what, " (", FormatNumberOf(free.count, "piece"), ", the largest ",
                      FormatBytes(free.largest), ")");
}

// Why this request failed, whatever had filled the device.
std::string CauseWords(const FailureReport& report) {
  const DeviceSpace& space = report.space;
  const FailedRequest& request = report.request;
  const std::string requested = FormatBytes(request.bytes), free = FormatBytes(space.free);
  const std::uint64_t holes = space.own_pool.bytes + space.other_pools.bytes + space.cached.bytes;
  switch (report.cause) {
    case FailureCause::kCapacity:
      return absl::StrCat(
          "Capacity: ", FormatBytes(report.missing), " too little. The driver had ", free, " free",
          holes > 0 ? absl::StrCat(", and the allocator ", FormatBytes(holes), " unused") : "",
          ": together less than the requested ", requested, ".");
    case FailureCause::kFragmentation:
      return absl::StrCat("Fragmentation: ", FormatBytes(space.free + holes + space.pools),
                          " were unused, but not in one piece of ", requested,
                          ". The largest that could serve ", "the request had ",
                          FormatBytes(std::max(space.largest_own, space.free)), ".");
    case FailureCause::kOtherPool:
      return absl::StrCat(
          "Stranded memory: a free piece of ", FormatBytes(space.largest_other),
          " was there, but in a pool for another stream or for blocks of another size; the "
          "request's own pool had at most ",
          FormatBytes(space.largest_own), " in one piece, and the driver ", free, ".");
    case FailureCause::kAllocatorRule:
      return absl::StrCat("The allocator's own rules: a free piece of ",
                          FormatBytes(space.largest_own),
                          " was in the right pool, and was not used (a limit on splitting, or a "
                          "pool that the program chose and the log does not name).");
    case FailureCause::kSegmentSize:
      return absl::StrCat("Segment size: the driver had ", free, " free, enough for ", requested,
                          ", but the allocator takes no less than ",
                          FormatBytes(request.driver_bytes), " from it for such requests.");
    case FailureCause::kReserve:
      return absl::StrCat(
          "Reserve: the driver had only ", free, " free, while ",
          FormatBytes(space.cached.bytes + space.pools),
          " were unused in whole segments and pools that could have been released.");
    case FailureCause::kDespiteFree:
      return absl::StrCat(
          "The driver refused ", FormatBytes(request.driver_bytes), " although it reported ", free,
          " free: rounding to its page size, a limit on a pool, or memory that was allocated "
          "elsewhere in between.");
    case FailureCause::kTooLarge:
      return absl::StrCat("Too large: ", requested, " is more than the device has (",
                          FormatBytes(space.total), ").");
    case FailureCause::kHostMemory:
      return "Host memory: the request was for page-locked memory of the host, which does not "
             "depend on the device's memory.";
    case FailureCause::kRefused:
      return absl::StrCat("Not a lack of memory: the driver refused the call with CUresult ",
                          request.result, ".");
    case FailureCause::kUnknown:
      break;
  }
  if (request.bytes == 0)
    return "The call names no size (a context, a module, a graph): what it needed is not in the "
           "log.";
  return "What was free at that instant is not in the log, nor how much the device has.";
}

std::string FailureGrowthWords(const FailureGrowth& growth) {
  if (growth.iterations > 0 && growth.replaced)
    return absl::StrCat("Growth: ", FormatBytes(growth.bytes), " are held by ",
                        FrameText(growth.site, NameStyle::kShort), ", which makes ",
                        FormatBytes(growth.bytes_per_step), " more in each of ",
                        FormatNumberOf(growth.iterations, "iteration"),
                        " and frees what it made before: that filled the device. For this "
                        "request: ");
  if (growth.iterations > 0)
    return absl::StrCat("Growth: ", FormatBytes(growth.bytes), " are held that ",
                        FrameText(growth.site, NameStyle::kShort), " allocated in ",
                        FormatNumberOf(growth.iterations, "iteration"), " and did not free, ",
                        FormatBytes(growth.bytes_per_step),
                        " more with each iteration: that filled the device. For this request: ");
  return absl::StrCat(
      "Growth: ", FormatBytes(growth.bytes), " are held by ",
      FrameText(growth.site, NameStyle::kShort),
      growth.sites > 1
          ? absl::StrCat(" and ", FormatNumberOf(growth.sites - 1, "other site"), " that leak")
          : "",
      growth.bytes_per_step > 0 ? absl::StrCat(", and ", FormatBytes(growth.bytes_per_step),
                                               " more stay with every step ('memprof leaks')")
                                : "",
      ": that filled the device. For this request: ");
}

std::string LargerStepWords(const FailureReport& report) {
  const LargerStep& larger = *report.larger_step;
  const bool of_all = larger.highest_before > 0;
  return absl::StrCat("Larger step: ", FormatBytes(larger.live), " are live in it, where ",
                      of_all ? "no step before held more than " : "the step before had ",
                      FormatBytes(of_all ? larger.highest_before : report.live_before),
                      of_all ? "; " : " at the same call; ", FormatBytes(larger.more),
                      " more than in the step before are held by ",
                      FrameText(larger.site, NameStyle::kShort), ". For this request: ");
}

constexpr char kNotEnough[] = "what suffices for this request does not suffice for the run.";

// In the first step of an optimizer.
std::string OptimizerWords(const FirstStep& first) {
  std::string text = absl::StrCat(first.steps_before ? " This" : " No step had finished: the",
                                  " optimizer ran for the first time. ");
  if (first.gradients_there > 0)
    absl::StrAppend(&text, "The gradients are there, ", FormatBytes(first.gradients_there), ". ");
  if (first.optimizer_state == 0)
    return absl::StrCat(text, FormatBytes(first.state_there),
                        " of its state are there; the request is for ",
                        first.temporaries ? "temporaries of its step." : "more of it.");
  const std::string there =
      first.state_there > 0 ? absl::StrCat("; ", FormatBytes(first.state_there), " of it are there")
                            : "";
  const std::uint64_t moment = (first.optimizer_state + first.state_there) / 2;
  const std::string with_momentum =
      first.optimizer_state > moment
          ? absl::StrCat("With momentum at least ", FormatBytes(first.optimizer_state - moment),
                         ", with Adam ")
          : "With Adam at least ";
  return absl::StrCat(text, first.adam ? "At least " : with_momentum,
                      FormatBytes(first.optimizer_state), " of ", first.adam ? "Adam's " : "",
                      "state are still to come", there, ": ", kNotEnough);
}

std::string FirstStepWords(const FirstStep& first) {
  const std::string of_all =
      absl::StrCat(", as much as the parameters, ", FormatBytes(first.parameters), ", in the end");
  if (first.optimizer) return OptimizerWords(first);
  return absl::StrCat(
      " No step had finished", first.backward ? ", the first backward pass was under way" : "",
      ". If the run trains, still to come are ", first.backward ? "" : "the backward pass with ",
      "gradients (", first.backward ? "at least " : "", FormatBytes(first.gradients),
      first.backward ? of_all : ", as much as the parameters that were there", ")",
      first.optimizer_state > 0
          ? absl::StrCat(" and the optimizer's state (", FormatBytes(first.optimizer_state / 2),
                         " with momentum, ", FormatBytes(first.optimizer_state), " with Adam)")
          : "",
      ": ", kNotEnough);
}

}  // namespace

std::string FailureCountWords(const std::vector<FailedRequest>& failures) {
  const auto recovered = std::count_if(failures.begin(), failures.end(),
                                       [](const FailedRequest& f) { return f.recovered; });
  return absl::StrCat(FormatNumberOf(failures.size(), "request"), " for memory failed",
                      recovered == std::ssize(failures) ? " only temporarily"
                      : recovered > 0 ? absl::StrCat(", ", recovered, " of them only temporarily")
                                      : "");
}

namespace {

// A sentence on private pools, if their unused memory could have mattered; else "".
std::string PrivatePoolWords(const FailureReport& report) {
  const std::uint64_t unused = report.space.private_pools.bytes;
  if (unused == 0 || unused < report.missing / 2) return "";
  return absl::StrCat(
      " Another ", FormatBytes(unused),
      " were unused in private pools, which serve only their CUDA graphs or what chose them.");
}

}  // namespace

std::string FailureVerdict(const FailureReport& report) {
  return absl::StrCat(report.growth ? FailureGrowthWords(*report.growth) : "",
                      report.larger_step ? LargerStepWords(report) : "", CauseWords(report),
                      PrivatePoolWords(report),
                      report.first_step ? FirstStepWords(*report.first_step) : "");
}

// What a larger device would need beyond this request.
static std::string LargerDeviceWords(const FailureReport& report) {
  if (report.growth && report.growth->bytes_per_step > 0)
    return absl::StrCat(", and ", FormatBytes(report.growth->bytes_per_step), " for every ",
                        report.growth->iterations > 0 ? "iteration" : "step", " from then on");
  if (report.larger_step) return " for this request; what the rest of the step needs comes on top";
  if (!report.first_step) return "";
  const FirstStep& first = *report.first_step;
  if (first.temporaries) return " for this request; the step's other temporaries come on top";
  if (first.optimizer) {
    const std::uint64_t rest =
        first.optimizer_state - std::min(first.optimizer_state, report.request.bytes);
    return absl::StrCat(" for this request; with the rest of the state ",
                        FormatBytes(report.missing + rest), " more, and the step's temporaries");
  }
  return absl::StrCat(
      " for this request; for a step at least ", FormatBytes(report.missing + first.gradients),
      " more",
      first.optimizer_state > 0
          ? absl::StrCat(", with Adam ",
                         FormatBytes(report.missing + first.gradients + first.optimizer_state))
          : "",
      ", and what the rest of the pass needs");
}

// Of a remedy that leaves what grows as it is.
static std::string PostponesWords(const FailureReport& report, const Remedy& remedy) {
  const bool makes_room =
      remedy.kind <= RemedyKind::kPacked || remedy.kind == RemedyKind::kOtherProcesses;
  if (!makes_room || !remedy.fits || !report.growth || report.growth->bytes_per_step <= 0)
    return "";
  const char* const turn = report.growth->iterations > 0 ? "iteration" : "step";
  const auto turns = static_cast<std::uint64_t>(static_cast<double>(remedy.beyond) /
                                                report.growth->bytes_per_step);
  return turns == 0 ? absl::StrCat("; the growth fills it in the next ", turn)
                    : absl::StrCat("; the growth fills it in ", FormatNumberOf(turns, turn));
}

static std::string ChangeWords(const Session& session, const FailureReport& report,
                               const Remedy& remedy, const SiteNamer& site_name) {
  const std::string bytes = FormatBytes(remedy.bytes);
  switch (remedy.kind) {
    case RemedyKind::kReleaseCache:
      return absl::StrCat("releasing unused segments to the driver: ", bytes);
    case RemedyKind::kTrimPools:
      return absl::StrCat("trimming driver pools: ", bytes);
    case RemedyKind::kSmallSegments:
      return absl::StrCat("taking no larger segment from the driver than the request needs");
    case RemedyKind::kOnePool:
      return absl::StrCat("one pool for all streams and sizes: its largest piece has ", bytes);
    case RemedyKind::kExpandable:
      return absl::StrCat("expandable segments: ", bytes,
                          " of whole 2 MiB pages of segments are unused");
    case RemedyKind::kPacked:
      return absl::StrCat("no fragmentation at all: ", bytes,
                          " of holes in one piece with what is free");
    case RemedyKind::kFreeBlocks: {
      const StackId stack = session.record(remedy.blocks[0]).stack;
      std::set<std::uint32_t> stacks;
      for (const AllocationId id : remedy.blocks) stacks.insert(session.record(id).stack.value);
      return absl::StrCat("freeing ", FormatNumberOf(remedy.blocks.size(), "neighbouring block"),
                          ", ", bytes, ", of ", site_name.stack(stack),
                          stacks.size() > 1 ? " and others" : "");
    }
    case RemedyKind::kSites: {
      std::string names;
      for (std::size_t i = 0; i < std::min<std::size_t>(remedy.sites.size(), 3); ++i)
        absl::StrAppend(&names, i == 0 ? "" : ", ", site_name.group(remedy.sites[i].site), " (",
                        FormatBytes(remedy.sites[i].bytes), ")");
      if (remedy.sites.size() > 3)
        absl::StrAppend(&names, " and ", remedy.sites.size() - 3, " more");
      if (remedy.sites.empty()) return absl::StrCat("all call sites without their memory: ", bytes);
      return absl::StrCat(
          remedy.sites.size() == 1 ? "without the memory of " : "without the memory of all of ",
          names);
    }
    case RemedyKind::kTraining:
      return absl::StrCat("with ", remedy.change, " ('memprof advise' has more)");
    case RemedyKind::kOtherProcesses:
      return absl::StrCat("without other processes on the device: ", bytes);
    case RemedyKind::kSmallerRequest:
      return remedy.bytes == 0
                 ? std::string("a smaller request: none of its kind would have fitted")
                 : absl::StrCat("a request of at most ", bytes, " (", FormatCount(remedy.bytes),
                                " bytes)");
    case RemedyKind::kLargerDevice:
      return absl::StrCat("a device with ", bytes,
                          " more: ", FormatBytes(report.space.total + remedy.bytes),
                          LargerDeviceWords(report));
  }
  return "";
}

std::string RemedyWords(const Session& session, const FailureReport& report, const Remedy& remedy,
                        const SiteNamer& site_name) {
  return ChangeWords(session, report, remedy, site_name) + PostponesWords(report, remedy);
}

std::uint64_t SpaceWhole(const DeviceSpace& space) {
  return space.total > 0 ? space.total : space.known();
}

std::vector<SpacePart> SpaceParts(const FailureReport& report) {
  const DeviceSpace& space = report.space;
  std::vector<SpacePart> parts;
  const auto add = [&parts](SpaceKind kind, std::uint64_t bytes, std::string words,
                            bool always = false) {
    if (bytes > 0 || always) parts.push_back({kind, Layer::kUnspecified, bytes, std::move(words)});
  };
  add(SpaceKind::kBlocks, space.blocks, "live blocks of allocators, as requested");
  add(SpaceKind::kRounding, space.rounding, "rounding of these blocks");
  if (report.request.framework) {
    add(SpaceKind::kOwnPool, space.own_pool.bytes,
        InPieces("free in segments in use, usable", space.own_pool));
    add(SpaceKind::kOtherPools, space.other_pools.bytes,
        InPieces("free in segments in use of other pools", space.other_pools));
  } else {
    add(SpaceKind::kOtherPools, space.other_pools.bytes,
        InPieces("free in an allocator's segments in use", space.other_pools));
  }
  add(SpaceKind::kPrivatePools, space.private_pools.bytes,
      InPieces("free in private pools", space.private_pools));
  add(SpaceKind::kForeign, space.foreign.bytes,
      InPieces("free in segments of the other processes", space.foreign));
  add(SpaceKind::kCached, space.cached.bytes,
      InPieces("whole segments without a block", space.cached));
  for (std::size_t i = 0; i < space.direct.size(); ++i) {
    const auto layer = static_cast<Layer>(i);
    add(SpaceKind::kDirect, space.direct[i],
        absl::StrCat(std::string(LayerName(layer)), " memory that no allocator suballocates"));
    if (space.direct[i] > 0) parts.back().layer = layer;
  }
  add(SpaceKind::kReserve, space.pools, "held in reserve by driver pools and mappings");
  add(SpaceKind::kModules, space.modules, "code (modules)");
  if (space.others) add(SpaceKind::kOthers, *space.others, "other processes", true);
  add(SpaceKind::kUntracked, space.untracked,
      "untracked: contexts, libraries' own memory, lazily loaded code");
  add(SpaceKind::kFree, space.free,
      space.sampled ? "free, as the driver reported" : "free, if nothing else was used",
      space.total > 0);
  return parts;
}

}  // namespace memprof::analysis
