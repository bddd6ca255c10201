// The device at the instant of a failure: every byte of it, and which pieces the request could use.
#include <algorithm>
#include <unordered_map>

#include "analysis/oom/internal/scene_parts.h"
#include "analysis/store/private_pools.h"

namespace memprof::analysis::oom {
namespace {

constexpr std::uint64_t kSmallRequest = std::uint64_t{1} << 20;

// The latest sample at or before the failure, else the first one; null if there is none.
const MemorySample* SampleFor(const FailedRequest& request,
                              const std::vector<MemorySample>& samples) {
  const MemorySample* best = nullptr;
  for (const MemorySample& sample : samples) {
    if (best != nullptr && sample.event > request.event) break;
    best = &sample;
  }
  return best;
}

// The last block that the thread got before it failed; of any thread if it got none.
AllocationId BlockBefore(const Session& session, const FailedRequest& request) {
  const EventTable& events = session.events();
  const std::uint32_t thread = events.thread(request.event.value);
  AllocationId any;
  for (std::uint32_t e = request.event.value; e-- > 0;) {
    if (events.op(e) != Op::kAlloc || events.layer(e) != Layer::kBlock ||
        events.device(e) != request.device)
      continue;
    if (events.thread(e) == thread) return events.allocation(e);
    if (!any.valid()) any = events.allocation(e);
  }
  return any;
}

// The stream of a request (0 = the default one), and the private pool of the previous block, if
// that was for the same stream.
void FindPool(const Session& session, const FailedRequest& request, Scene& scene) {
  scene.stream = session.events().stream(request.event.value);
  const AllocationId before = BlockBefore(session, request);
  if (!before.valid()) return;
  if (session.allocation(before).stream == scene.stream)
    scene.private_pool = PrivatePoolOf(session, before);
}

// Whether a request is for small segments: by the request to the driver, else by earlier blocks of
// such sizes, else by PyTorch's limit.
bool IsForSmallPool(const Session& session, const FailedRequest& request) {
  if (request.driver.valid()) return request.driver_bytes <= kPage;
  std::uint64_t largest_small = 0, smallest_large = ~std::uint64_t{0};
  for (const AllocationRecord& a : session.records()) {
    if (a.birth > request.event) break;
    if (a.layer != Layer::kBlock || a.device != request.device || !a.parent.valid()) continue;
    const AllocationRecord& base = session.record(a.parent);
    if (base.layer != Layer::kSegment) continue;
    if (base.bytes <= kPage)
      largest_small = std::max(largest_small, a.bytes);
    else
      smallest_large = std::min(smallest_large, a.bytes);
  }
  if (request.bytes <= largest_small) return true;
  if (request.bytes >= smallest_large) return false;
  return request.bytes <= kSmallRequest;
}

void AddPiece(FreePieces& pieces, std::uint64_t bytes) {
  pieces.bytes += bytes;
  pieces.largest = std::max(pieces.largest, bytes);
  ++pieces.count;
}

// Whole pages of a hole that the driver could map elsewhere.
std::uint64_t WholePages(const MapPiece& hole) {
  const std::uint64_t begin = RoundUp(hole.address, kPage);
  const std::uint64_t end = (hole.address + hole.bytes) / kPage * kPage;
  return end > begin ? end - begin : 0;
}

void AddBlocks(const Session& session, const MapSegment& segment, DeviceSpace& space) {
  for (const MapPiece& piece : segment.pieces) {
    if (piece.hole()) continue;
    const Allocation block = session.allocation(piece.allocation);
    const std::uint64_t requested = std::min(piece.bytes, std::min(block.bytes, block.requested));
    space.blocks += requested;
    space.rounding += piece.bytes - requested;
  }
}

void AddHoles(const MapSegment& segment, FreePieces& pieces) {
  for (const MapPiece& piece : segment.pieces)
    if (piece.hole()) AddPiece(pieces, piece.bytes);
}

// `ours`: of the process that failed; `own`: of the pool that could serve it.
void AddSegment(const Session& session, const MapSegment& segment, bool ours, bool own,
                DeviceSpace& space) {
  AddBlocks(session, segment, space);
  if (!ours) return AddHoles(segment, space.foreign);
  // Only replays of its graphs can use it, and emptying the cache does not free it.
  if (!own && PrivatePoolOf(session, segment.allocation) != 0)
    return AddHoles(segment, space.private_pools);
  if (segment.free_bytes == segment.bytes) {
    AddPiece(space.cached, segment.bytes);
    if (own) space.own_cached += segment.bytes;
  }
  std::uint64_t& largest = own ? space.largest_own : space.largest_other;
  largest = std::max(largest, segment.largest_hole);
  for (const MapPiece& piece : segment.pieces) {
    if (!piece.hole()) continue;
    space.whole_pages += WholePages(piece);
    if (segment.free_bytes != segment.bytes)
      AddPiece(own ? space.own_pool : space.other_pools, piece.bytes);
  }
}

// Driver memory that no allocator divides. Segments whose pages were mapped one by one consist of
// several pieces of physical memory, which the log does not connect: then physical memory only
// counts beyond the sum of segments.
void AddDirect(Scene& scene) {
  const Session& session = *scene.session;
  const int device = scene.request.device;
  std::unordered_map<std::uint32_t, std::uint64_t> covered;  // by driver allocation
  std::uint64_t mapped = 0;                                  // segments of several pieces
  for (const MapSegment& segment : scene.segments) {
    const AllocationRecord& base = session.record(segment.allocation);
    AllocationId driver = segment.allocation;
    if (base.layer == Layer::kSegment) driver = base.parent;
    if (driver.valid() && OccupiesDevice(session.record(driver).layer) &&
        session.record(driver).device == device)
      covered[driver.value] += segment.bytes;
    else
      mapped += segment.bytes;
  }
  const EventId now = session.EventAt(scene.request.time);
  for (auto& [driver, bytes] : covered) {
    const AllocationRecord& a = session.record(AllocationId(driver));
    if (a.layer == Layer::kVmmPhysical && bytes > a.bytes) mapped += bytes - a.bytes;
  }
  for (const AllocationId id : session.LiveAfter(now, kDeviceLayers)) {
    const AllocationRecord& a = session.record(id);
    if (a.device != device) continue;
    const auto suballocated = covered.find(id.value);
    const std::uint64_t used =
        suballocated == covered.end() ? 0 : std::min(suballocated->second, a.bytes);
    const bool backs_segments = a.layer == Layer::kVmmPhysical && mapped > 0;
    if (used == 0 && a.bytes > 0 && !backs_segments) scene.direct.push_back(id);
    scene.space.direct[static_cast<std::size_t>(a.layer)] += a.bytes - used;
  }
  std::uint64_t& physical = scene.space.direct[static_cast<std::size_t>(Layer::kVmmPhysical)];
  physical -= std::min(physical, mapped);
}

// The part of the device outside of all known memory. `drift`: how much more was known at the
// failure than at the sample.
void Close(const Session& session, const FailedRequest& request, const MemorySample* sample,
           const DeviceTimeline* timeline, std::uint64_t capacity, DeviceSpace& space) {
  if (sample != nullptr) {
    space.sampled = true;
    space.sample_time = sample->time;
    space.total = sample->total_bytes;
    space.free = sample->free_bytes;
    space.others = sample->others_bytes;
    if (space.others)
      *space.others -= std::min(*space.others, KnownOfOthers(session, *sample, request.device));
    if (timeline != nullptr) {
      const std::uint64_t then = timeline->reserved.At(sample->time);
      const std::uint64_t now = timeline->reserved.At(request.time);
      space.free = now >= then ? space.free - std::min(space.free, now - then)
                               : std::min(space.total, space.free + (then - now));
    }
  } else {
    space.total = capacity;
    const std::uint64_t known = space.known();
    space.free = capacity > known ? capacity - known : 0;
  }
  if (space.total == 0) return;
  const std::uint64_t used = space.total - space.free, known = space.known();
  space.untracked = used > known ? used - known : 0;
  space.elsewhere = known > used ? known - used : 0;
}

}  // namespace

Scene LayOut(const Session& session, const FailedRequest& request,
             const std::vector<MemorySample>& samples, const DeviceTimeline* timeline) {
  Scene scene{.session = &session, .request = request};
  if (request.device == kNoDevice) return scene;
  if (request.framework) {
    FindPool(session, request, scene);
    scene.small_pool = IsForSmallPool(session, request);
  }
  DeviceSpace& space = scene.space;
  const std::uint32_t process = session.ProcessOf(request.event);
  for (MapSegment& segment : BuildAddressMap(session, request.device, request.time).segments) {
    if (!segment.framework) continue;
    const AllocationRecord& base = session.record(segment.allocation);
    const bool ours = session.ProcessOf(base.birth) == process;
    const bool own = request.framework && ours &&
                     (base.layer != Layer::kSegment ||
                      ((segment.bytes <= kPage) == scene.small_pool &&
                       session.allocation(segment.allocation).stream == scene.stream &&
                       session.allocation(segment.allocation).pool == scene.private_pool));
    AddSegment(session, segment, ours, own, space);
    scene.segments.push_back(std::move(segment));
    scene.own.push_back(own);
  }
  AddDirect(scene);
  if (timeline != nullptr) {
    const std::uint64_t reserved = timeline->reserved.At(request.time);
    const std::uint64_t live = timeline->total.At(request.time);
    space.pools = reserved > live ? reserved - live : 0;
    space.modules = timeline->layer[static_cast<std::size_t>(Layer::kModule)].At(request.time);
  }
  std::uint64_t capacity = 0;
  for (const DeviceInfo& info : session.devices())
    if (info.id == request.device) capacity = info.capacity_bytes;
  Close(session, request, SampleFor(request, samples), timeline, capacity, space);
  return scene;
}

FailureCause CauseOf(const Scene& scene) {
  constexpr std::uint32_t kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
  const FailedRequest& request = scene.request;
  const DeviceSpace& space = scene.space;
  const std::uint64_t bytes = request.bytes, need = scene.need();
  if (!request.framework && request.result != 0 && request.result != kOutOfMemory)
    return FailureCause::kRefused;
  if (OccupiesHost(request.layer)) return FailureCause::kHostMemory;
  if (bytes == 0 || request.device == kNoDevice) return FailureCause::kUnknown;
  // Without the capacity it is only known what allocators had.
  if (space.total == 0 && !request.framework) return FailureCause::kUnknown;
  if (space.total > 0 && bytes > space.total) return FailureCause::kTooLarge;
  const std::uint64_t holes = space.own_pool.bytes + space.other_pools.bytes + space.cached.bytes;
  if (request.framework) {
    if (space.largest_own >= bytes) return FailureCause::kAllocatorRule;
    if (space.free >= RoundUp(bytes, kPage) && need > space.free) return FailureCause::kSegmentSize;
    if (space.largest_other >= bytes) return FailureCause::kOtherPool;
    if (space.free >= need && request.driver.valid()) return FailureCause::kDespiteFree;
    if (space.free + holes >= bytes) return FailureCause::kFragmentation;
    return space.total == 0 ? FailureCause::kUnknown : FailureCause::kCapacity;
  }
  if (space.free >= need) return FailureCause::kDespiteFree;
  if (space.free + space.cached.bytes + space.pools >= need) return FailureCause::kReserve;
  return space.free + space.pools + holes >= need ? FailureCause::kFragmentation
                                                  : FailureCause::kCapacity;
}

std::vector<SiteUse> UsesOf(const Scene& scene, SiteGroups& groups) {
  std::vector<SiteUse> uses;
  std::unordered_map<std::uint32_t, std::size_t> row;
  const auto add = [&](AllocationId id, std::uint64_t bytes) {
    const std::uint32_t site = groups.Of(scene.session->record(id).stack);
    const auto [at, fresh] = row.try_emplace(site, uses.size());
    if (fresh) uses.push_back({site, 0, 0});
    uses[at->second].bytes += bytes;
    ++uses[at->second].count;
  };
  for (const MapSegment& segment : scene.segments)
    for (const MapPiece& piece : segment.pieces)
      if (!piece.hole()) add(piece.allocation, piece.bytes);
  for (const AllocationId id : scene.direct) add(id, scene.session->record(id).bytes);
  std::stable_sort(uses.begin(), uses.end(),
                   [](const SiteUse& a, const SiteUse& b) { return a.bytes > b.bytes; });
  return uses;
}

std::vector<AllocationId> LiveIn(const Scene& scene) {
  std::vector<AllocationId> live = scene.direct;
  for (const MapSegment& segment : scene.segments)
    for (const MapPiece& piece : segment.pieces)
      if (!piece.hole()) live.push_back(piece.allocation);
  return live;
}

}  // namespace memprof::analysis::oom
