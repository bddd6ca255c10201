// Page-locked memory that PyTorch's rounding takes.
//
// PyTorch rounds each request for page-locked memory up to a power of two and keeps what is freed
// for the next request of that size (at::CachingHostAllocatorImpl::allocate, read in 2.5 to 2.14).
// From 2.13 on requests above pinned_max_round_threshold_mb or pinned_max_cached_size_mb are not
// rounded; there is no limit by default. Neither pinned_use_cuda_host_register nor
// pinned_reserve_segment_size_mb changes it: both are asked for the rounded size.
#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/advice/internal/drafts.h"
#include "analysis/allocators/torch_settings.h"
#include "analysis/base/text.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis::advice {
namespace {

constexpr std::uint64_t kSmall = 1 << 20;      // not worth a look
constexpr std::uint64_t kMatters = 64u << 20;  // of rounding at the peak of page-locked memory

// Whether PyTorch's code called the driver for it, perhaps through CUDA's runtime.
bool AskedByTorch(const Session& session, StackId stack) {
  if (!stack.valid()) return false;
  for (const FrameId id : session.StackFrames(stack)) {
    const Frame& frame = session.frame(id);
    if (frame.python) return false;
    if (frame.module == EventId::kNone) continue;
    const std::string_view name = BaseName(session.modules()[frame.module].path);
    if (name.starts_with("libcuda") || name.starts_with("libamdhip")) continue;
    return name.starts_with("libtorch_") || name.starts_with("libc10");
  }
  return false;
}

// The sizes above which PyTorch did not round, by process.
std::vector<std::uint64_t> Thresholds(const Session& session) {
  std::vector<std::uint64_t> thresholds;
  for (const allocators::TorchSettings& all : allocators::TorchSettingsOf(session)) {
    std::uint64_t threshold = ~std::uint64_t{0};
    for (const allocators::TorchSetting& setting : all.settings) {
      if (allocators::DidNothing(setting.state)) continue;
      if (setting.key == "pinned_max_round_threshold_mb" ||
          setting.key == "pinned_max_cached_size_mb")
        threshold = std::min(threshold, allocators::MebibytesOf(setting.value));
    }
    thresholds.push_back(threshold);
  }
  return thresholds;
}

// The most bytes of an allocation that can be rounding: PyTorch asked for more than half of it, and
// for all that was copied.
std::uint64_t MostRounding(const Accesses& accesses, AllocationId id, std::uint64_t bytes) {
  std::uint64_t used = bytes / 2 + 1;
  for (const Access& access : accesses.Of(id))
    if (access.use != Use::kKernel && access.offset < bytes)
      used = std::max(used, std::min(bytes, access.offset + std::min(access.bytes, bytes)));
  return bytes - used;
}

// What was rounded, and its bytes when they were most.
struct Rounded {
  const Session& session;
  const std::vector<std::uint64_t>& rounding;  // by allocation; 0 for all other memory
  std::uint64_t now = 0, peak = 0, held = 0, held_at_peak = 0;
  EventId event;

  void Birth(EventId, AllocationId id) {
    if (rounding[id.value] == 0) return;
    now += rounding[id.value];
    held += session.record(id).bytes;
  }
  void Death(EventId, AllocationId id) {
    if (rounding[id.value] == 0) return;
    now -= rounding[id.value];
    held -= session.record(id).bytes;
  }
  void After(EventId e) {
    if (now <= peak) return;
    peak = now;
    held_at_peak = held;
    event = e;
  }
};

bool LivesAt(const AllocationRecord& a, EventId event) {
  return a.birth <= event && (!a.death.valid() || a.death > event);
}

}  // namespace

void FindPinnedRounding(Drafts& drafts) {
  const Session& session = drafts.session();
  const auto records = session.records();
  const std::vector<std::uint64_t> thresholds = Thresholds(session);
  std::vector<std::uint64_t> rounding(records.size(), 0);
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (a.layer != Layer::kPinned || a.bytes <= kSmall || !std::has_single_bit(a.bytes)) continue;
    const std::uint32_t process = session.ProcessOf(a.birth);
    if (process < thresholds.size() && a.bytes > thresholds[process]) continue;
    if (!AskedByTorch(session, a.stack)) continue;
    rounding[i] = MostRounding(drafts.accesses(), AllocationId(i), a.bytes);
  }
  Rounded rounded{session, rounding};
  WalkLifetimes(session, rounded);
  if (rounded.peak < kMatters) return;
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (rounding[i] == 0 || !LivesAt(a, rounded.event)) continue;
    Draft& draft = drafts.At(Pattern::kPinnedRounding, a);
    drafts.Count(draft, a.bytes, {a.birth, AllocationId(i), {}, {}});
    draft.other += rounding[i];
    draft.finding.saves_bytes += rounding[i];
    draft.finding.upper_bound = true;
    // Where it was not copied, only the half is known.
    if (drafts.accesses().Of(AllocationId(i)).empty()) ++draft.unknown;
    Weaken(draft, draft.unknown > 0 ? Confidence::kPossible : Confidence::kLikely);
    const auto& run = session.processes()[session.ProcessOf(a.birth)].run;
    draft.torch_release = allocators::TorchReleaseNumber(run.torch_release);
  }
}

}  // namespace memprof::analysis::advice
