// The sentences of findings: the observation, the change, the assumption.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "analysis/advice/internal/drafts.h"
#include "analysis/base/units.h"

namespace memprof::analysis {
namespace {

struct PatternWords {
  std::string_view id, name;
};

constexpr std::array<PatternWords, kPatternCount> kWords = {{
    {"leak", "leak"},
    {"unused-allocation", "unused allocation"},
    {"early-allocation", "early allocation"},
    {"late-release", "late release"},
    {"reusable-allocation", "reusable allocation"},
    {"temporary-idleness", "temporary idleness"},
    {"rounding-waste", "rounding waste"},
    {"over-reservation", "over-reservation"},
    {"dead-write", "dead write"},
    {"duplicate-transfer", "duplicate transfer"},
    {"round-trip", "round trip"},
    {"repeated-upload", "repeated upload"},
    {"pageable-copy", "pageable copy in the loop"},
    {"unused-pinned", "unused pinned memory"},
    {"huge-pinned", "more pinned memory than devices have"},
    {"managed-faults", "managed memory without prefetch"},
    {"driver-churn", "allocation in the loop"},
    {"cache-churn", "cache emptied and filled"},
    {"retried-failure", "failure that was retried"},
    {"idle-setting", "setting without effect"},
    {"pinned-rounding", "pinned memory rounded up"},
    {"waiting-memory", "memory kept for other streams"},
    {"held-over", "kept into the next step"},
    {"fused-step", "temporaries of the optimizer's step"},
    {"freed-gradients", "gradients kept through forward passes"},
    {"chunked-loss", "logits of the whole batch"},
    {"bucket-views", "gradients beside their buckets"},
    {"checkpointing", "checkpointing"},
    {"small-batches", "smaller batches"},
    {"small-state", "optimizer state of 8 bits"},
    {"host-state", "optimizer state on the host"},
}};

std::string Times(std::uint64_t count) { return FormatNumberOf(count, "time"); }

// "on average" of a sum over `count` cases.
std::string Mean(TimeNs sum, std::uint64_t count) {
  return FormatDuration(count == 0 ? 0 : sum / count);
}

std::string LaunchesOnAverage(const advice::Draft& draft) {
  const std::uint64_t count = draft.finding.count;
  const std::uint64_t mean = count == 0 ? 0 : (draft.launches + count / 2) / count;
  return FormatNumberOf(mean, "kernel launch", "kernel launches");
}

std::string UnknownNote(const advice::Draft& draft) {
  if (draft.unknown == 0) return "";
  return absl::StrCat(
      "In ", draft.unknown, " of ", draft.finding.count,
      " cases, launches whose arguments are not known ran in between: none of them used it.");
}

constexpr char kHiddenPointers[] =
    "No pointer to it lies in device memory, and streams run in the order of the host's calls.";

std::string HostNote(const advice::Draft& draft) {
  return draft.finding.layer == Layer::kManaged ? "The host does not use it either." : "";
}

std::string UseAssumption(const advice::Draft& draft) {
  std::string text = UnknownNote(draft);
  const std::string host = HostNote(draft);
  if (!host.empty()) absl::StrAppend(&text, text.empty() ? "" : " ", host);
  absl::StrAppend(&text, text.empty() ? "" : " ", kHiddenPointers);
  return text;
}

std::string ChurnFix(Layer layer) {
  if (OccupiesHost(layer))
    return "Pin once before the loop and keep the buffer: locking pages costs a system call for "
           "each, often milliseconds.";
  if (layer == Layer::kManaged || layer == Layer::kLinear || layer == Layer::kPitched)
    return "Keep the buffer across steps, or use cudaMallocAsync or a pool: cudaFree waits until "
           "the device has finished everything.";
  return "Keep it across steps: creating and destroying it is a call into the driver each time.";
}

struct Sentences {
  std::string why, fix, assumption;
};

Sentences OfLifetimes(const advice::Draft& draft) {
  const Finding& f = draft.finding;
  const std::string mean = Mean(draft.gap, f.count);
  switch (f.pattern) {
    case Pattern::kUnused: {
      const std::string none =
          draft.launches == 0
              ? "no kernel ran on its device while it lived, and nothing was copied to or from it"
              : absl::StrCat("none of the ", draft.launches,
                             " launches during its lifetime had a pointer to it, and nothing was "
                             "copied to or from it");
      return {absl::StrCat(FormatNumberOf(f.count, "allocation"), ": ", none, "."),
              "Do not allocate it, or only where it is needed.",
              draft.launches > 0 ? UseAssumption(draft) : HostNote(draft)};
    }
    case Pattern::kEarlyAllocation:
      return {absl::StrCat(FormatNumberOf(f.count, "allocation"), " waited ", mean, " and ",
                           LaunchesOnAverage(draft),
                           " on average for the first use, while other memory was freed."),
              "Allocate right before the first use.", UseAssumption(draft)};
    case Pattern::kLateRelease:
      return {absl::StrCat(FormatNumberOf(f.count, "allocation"), " stayed ", mean, " and ",
                           LaunchesOnAverage(draft),
                           " on average after the last use, while other memory was allocated."),
              "Free right after the last use (drop the reference that keeps it).",
              UseAssumption(draft)};
    case Pattern::kReusable:
      return {absl::StrCat(Times(f.count),
                           ", memory of the same size had its last use before the first use of "
                           "this allocation, and both were held at once for ",
                           mean, " on average."),
              "Use that memory again in place of a new allocation, or free it before.",
              UseAssumption(draft)};
    case Pattern::kIdle:
      return {
          absl::StrCat(Times(f.count), " it was unused between two uses, for ", mean, " and ",
                       LaunchesOnAverage(draft), " on average, while other memory was allocated."),
          "Move it to the host and back, or compute it again (checkpointing): each costs time, and "
          "a copy of its bytes each way.",
          UseAssumption(draft)};
    default:
      return {};
  }
}

Sentences OfTransfers(const advice::Draft& draft) {
  const Finding& f = draft.finding;
  const std::string copies = FormatNumberOf(f.count, "copy", "copies");
  switch (f.pattern) {
    case Pattern::kDeadWrite:
      return {absl::StrCat(FormatNumberOf(f.count, "copy or memset", "copies and memsets"), " of ",
                           FormatBytes(f.bytes), ": the bytes were overwritten or freed",
                           draft.other > 0 ? absl::StrCat(" (", draft.other, " freed)") : "",
                           " before anything could read them."),
              "Leave the first write out.", kHiddenPointers};
    case Pattern::kDuplicateTransfer:
      return {absl::StrCat(copies, " of ", FormatBytes(f.bytes),
                           " copied bytes to a place that already held them: neither source nor "
                           "destination can have changed since the same copy before."),
              "Copy once and keep the result.",
              absl::StrCat(kHiddenPointers, " The host still has what it received.")};
    case Pattern::kRoundTrip:
      return {absl::StrCat(copies, " of ", FormatBytes(f.bytes),
                           " copied from the host what the device still had: it had been copied to "
                           "the host from there, and cannot have changed since."),
              "Use the memory that is on the device already.",
              "The host did not change the bytes in between: a log has addresses and sizes, not "
              "contents."};
    case Pattern::kRepeatedUpload:
      return {
          absl::StrCat(
              "After the first copy, the same host memory was copied to the same place on the "
              "device another ",
              Times(f.count), "."),
          "If the bytes are the same each time, upload them once; if they are new, as those of a "
          "batch, change nothing.",
          "The host did not change the bytes in between: a log has addresses and sizes, not "
          "contents."};
    case Pattern::kPageableCopy:
      return {absl::StrCat(copies, " of ", FormatBytes(f.bytes),
                           " in the loop used host memory that is not page-locked: the driver "
                           "copies such bytes twice, and the call waits."),
              "Keep a page-locked buffer for it (cudaHostAlloc, pin_memory).",
              "It was not page-locked before recording began."};
    default:
      return {};
  }
}

// What segments that grow would do is said as a replay found it.
std::string GrowingSegmentsWords(std::optional<std::int64_t> saved) {
  constexpr char kWhich[] = "'memprof fragmentation' shows which blocks separate the free memory.";
  if (!saved)
    return absl::StrCat("'memprof replay' tries other settings of the allocator; ", kWhich);
  if (*saved > 0)
    return absl::StrCat(
        "Let segments grow (PyTorch: expandable_segments:True): by a replay of all requests ",
        FormatBytes(static_cast<std::uint64_t>(*saved)), " less at the peak; ", kWhich);
  return absl::StrCat("Segments that grow (expandable_segments:True) would take ",
                      *saved == 0
                          ? "as much"
                          : absl::StrCat(FormatBytes(static_cast<std::uint64_t>(-*saved)), " more"),
                      ", by a replay of all requests; ", kWhich);
}

Sentences OfReserve(const advice::Draft& draft) {
  const Finding& f = draft.finding;
  if (f.layer == Layer::kStreamOrdered)
    return {absl::StrCat("At the last look the driver's pools held ", FormatBytes(draft.reserved),
                         " that nothing used: no leak, but no other process can have it."),
            "Trim the pool (cudaMemPoolTrimTo), or lower its release threshold "
            "(cudaMemPoolAttrReleaseThreshold).",
            "What the pool released, it has to take from the driver again when it is needed."};
  const bool idle = OfIdleStreams(draft);
  return {
      absl::StrCat("At its peak the allocator held ", FormatBytes(draft.reserved),
                   " of segments, and at most ", FormatBytes(draft.other),
                   " of blocks were in use at once.",
                   idle ? absl::StrCat(" ", FormatBytes(draft.idle_bytes), " of it belonged to ",
                                       FormatNumberOf(draft.idle_streams, "stream"),
                                       " without any block: each stream has segments of its own.")
                        : ""),
      idle ? "Make the streams once, and use them again." : GrowingSegmentsWords(draft.tried),
      f.upper_bound
          ? "An allocator needs at least what is in use: the saving is a bound, not a forecast."
          : ""};
}

Sentences OfTheDriver(const advice::Draft& draft) {
  const Finding& f = draft.finding;
  switch (f.pattern) {
    case Pattern::kLeak:
      return {f.why, "Drop the reference that keeps it after each step.",
              "Freed after as many steps as the site's other blocks live."};
    case Pattern::kRounding:
      return {absl::StrCat(FormatNumberOf(f.count, "allocation"), " of ", FormatBytes(draft.other),
                           ", of which ", FormatBytes(f.bytes), " were not requested."),
              f.layer == Layer::kPitched
                  ? "Choose a width near a multiple of the pitch's alignment, or allocate linearly."
                  : "Choose sizes just below the allocator's steps, or join small allocations.",
              ""};
    case Pattern::kOverReservation:
      return OfReserve(draft);
    case Pattern::kWaiting:
      return {absl::StrCat(FormatBytes(f.bytes), " of the ", FormatBytes(draft.reserved),
                           " that the allocator held then were freed, but waited for other streams "
                           "(record_stream): nothing else could use them."),
              "Let the streams wait for each other (Stream.wait_stream) and free after that, "
              "without record_stream. Of PyTorch's own: limit_all_gathers=True, or fully_shard in "
              "place of FSDP; for collectives TORCH_NCCL_AVOID_RECORD_STREAMS=1, the default of "
              "newer releases.",
              "A stream that waits may cost time, and the saving is a bound: the allocator may "
              "need the memory anyway."};
    case Pattern::kHeldOver:
      return {
          absl::StrCat(Times(f.count), " it stayed in the next step until that had made its own",
                       f.layer == Layer::kBlock ? ", with the graph that it keeps" : "", ": ",
                       FormatBytes(draft.other), " at most were there twice."),
          f.layer == Layer::kBlock
              ? "Delete what holds it at the end of each step (del). A result keeps its graph: "
                "of what is logged or collected, keep .item() or .detach()."
              : "Free it at the end of each step.",
          "The next step does not read it."};
    case Pattern::kChurn:
      return {absl::StrCat(FormatNumberOf(f.count, "pair"), " of allocation and free in the loop, ",
                           FormatBytes(f.bytes), " in total."),
              ChurnFix(f.layer), ""};
    case Pattern::kCacheChurn:
      return {absl::StrCat(Times(f.count),
                           " the allocator requested a segment from the driver of a size that it "
                           "had released before, ",
                           FormatBytes(f.bytes), " in total."),
              "Do not empty the cache in the loop: each release of a segment waits for the device, "
              "and the segment is requested again.",
              ""};
    case Pattern::kRetriedFailure:
      return {absl::StrCat(FormatNumberOf(f.count, "allocation"), " of ", FormatBytes(f.bytes),
                           " failed, and succeeded when tried again",
                           draft.other > 0 ? absl::StrCat("; at worst ", FormatBytes(draft.other),
                                                          " were lacking")
                                           : "",
                           "."),
              "The run is at the device's limit: each retry empties caches and waits for the "
              "device. Lower the peak by what was lacking.",
              ""};
    default:
      return {};
  }
}

constexpr int kRoundingCanBeLimited = 213;  // the release of PyTorch, as a number

Sentences OfTheHost(const advice::Draft& draft) {
  const Finding& f = draft.finding;
  switch (f.pattern) {
    case Pattern::kPinnedUnused:
      return {absl::StrCat(FormatNumberOf(f.count, "page-locked allocation"), " of ",
                           FormatBytes(f.bytes),
                           ": while others were copied, nothing was copied from or to it, and no "
                           "kernel had a pointer to it."),
              "Use ordinary memory: the system cannot use page-locked memory for anything else.",
              "No library uses it for other transfers."};
    case Pattern::kPinnedHuge:
      return {absl::StrCat(FormatBytes(f.bytes),
                           " of host memory were page-locked at once; the devices together have ",
                           FormatBytes(draft.other), "."),
              "Pin a few buffers and use them in turn: the system cannot page such memory out.",
              ""};
    case Pattern::kPinnedRounding:
      return {absl::StrCat(FormatNumberOf(f.count, "page-locked allocation"), " of PyTorch, ",
                           FormatBytes(f.bytes),
                           " of host memory at their peak: PyTorch rounds each up to a power of "
                           "two, which was at most ",
                           FormatBytes(draft.other), " of it."),
              draft.torch_release != 0 && draft.torch_release < kRoundingCanBeLimited
                  ? "Pin sizes just below a power of two (the batch's, or one buffer for several "
                    "tensors), with fewer workers and prefetched batches; from PyTorch 2.13 on "
                    "pinned_max_round_threshold_mb:1 in PYTORCH_ALLOC_CONF ends the rounding above "
                    "1 MiB."
                  : "Set pinned_max_round_threshold_mb:1 in PYTORCH_ALLOC_CONF (PyTorch 2.13 and "
                    "later): requests above 1 MiB are then not rounded.",
              draft.unknown == 0 ? ""
                                 : "Of what was not copied, each request was just above half: "
                                   "'memprof run --cupti' records copies, which show how much was "
                                   "used."};
    case Pattern::kSetting:
      return {f.why,
              "Correct it or leave it out: 'memprof report' lists all settings and what PyTorch "
              "made of them.",
              ""};
    case Pattern::kManagedFaults:
      return {
          absl::StrCat(FormatNumberOf(f.count, "managed allocation"), " of ", FormatBytes(f.bytes),
                       ": no prefetch or advice preceded the first kernel that used it."),
          "Call cudaMemPrefetchAsync before the first kernel that uses it: otherwise each page "
          "migrates at a page fault of a kernel.",
          "The host had written it before."};
    default:
      return {};
  }
}

}  // namespace

std::string_view PatternId(Pattern pattern) { return kWords[static_cast<std::size_t>(pattern)].id; }
std::string_view PatternName(Pattern pattern) {
  return kWords[static_cast<std::size_t>(pattern)].name;
}

std::string_view ConfidenceName(Confidence confidence) {
  switch (confidence) {
    case Confidence::kCertain:
      return "certain";
    case Confidence::kLikely:
      return "likely";
    case Confidence::kPossible:
      return "possible";
  }
  return "unknown";
}

namespace advice {
namespace {

bool HasSegments(const Session& session) {
  const auto records = session.records();
  return std::any_of(records.begin(), records.end(),
                     [](const AllocationRecord& a) { return a.layer == Layer::kSegment; });
}

}  // namespace

void Explain(const Session&, const Draft& draft, Finding* finding) {
  if (!finding->fix.empty()) return;  // its finder wrote them
  for (const auto explain : {OfLifetimes, OfTransfers, OfTheDriver, OfTheHost}) {
    Sentences sentences = explain(draft);
    if (sentences.why.empty()) continue;
    finding->why = std::move(sentences.why);
    finding->fix = std::move(sentences.fix);
    finding->assumption = std::move(sentences.assumption);
    return;
  }
}

std::string MissingFor(const Session& session, Pattern pattern, const AccessEvidence& evidence) {
  switch (pattern) {
    case Pattern::kLeak:
    case Pattern::kHeldOver:
      return session.steps().empty() ? "training steps (memprof_step)" : "";
    case Pattern::kUnused:
      return evidence.launches > 0 ? "" : "kernel launches (memprof run --cupti)";
    case Pattern::kEarlyAllocation:
    case Pattern::kLateRelease:
    case Pattern::kReusable:
    case Pattern::kIdle:
    case Pattern::kManagedFaults:
      return evidence.pointers() ? "" : "kernel launches with their pointers (memprof run --cupti)";
    case Pattern::kDeadWrite:
    case Pattern::kDuplicateTransfer:
    case Pattern::kRoundTrip:
    case Pattern::kRepeatedUpload:
    case Pattern::kPageableCopy:
    case Pattern::kPinnedUnused:
      return evidence.copies + evidence.memsets > 0 ? ""
                                                    : "copies and memsets (memprof run --cupti)";
    case Pattern::kOverReservation:
      return HasSegments(session) || session.events().Has(Op::kPoolSample)
                 ? ""
                 : "a framework's allocator";
    case Pattern::kCacheChurn:
    case Pattern::kWaiting:
      return HasSegments(session) ? "" : "a framework's allocator";
    default:
      return "";
  }
}

}  // namespace advice
}  // namespace memprof::analysis
