// Matches launches, copies and memsets with the memory that lives where they point.
#include "analysis/timeline/accesses.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/container/btree_map.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// A copy over more pieces than this is taken to be about the first ones.
constexpr int kMaxPieces = 64;
constexpr std::uint64_t kCaptured = 16;  // in aux1 of a copy or memset: see OP_MEMCPY

using Launches = std::map<std::pair<std::uint32_t, int>, std::vector<std::uint32_t>>;

std::uint64_t CountBetween(const Launches& launches, std::uint32_t process, int device,
                           EventId after, EventId before) {
  const auto at = launches.find({process, device});
  if (at == launches.end()) return 0;
  const auto first = std::upper_bound(at->second.begin(), at->second.end(), after.value);
  const auto last = std::lower_bound(first, at->second.end(), before.value);
  return static_cast<std::uint64_t>(last - first);
}

}  // namespace

bool HasAddress(Layer layer) {
  switch (layer) {
    case Layer::kLinear:
    case Layer::kPitched:
    case Layer::kManaged:
    case Layer::kPinned:
    case Layer::kRegistered:
    case Layer::kStreamOrdered:
    case Layer::kGraph:
    case Layer::kBlock:
      return true;
    default:
      return false;
  }
}

// A visitor of WalkLifetimes that reads the other events too.
class Accesses::Collector {
 public:
  Collector(const Session& session, Accesses* accesses)
      : session_(session), events_(session.events()), out_(*accesses) {}

  void Birth(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (HasAddress(a.layer)) RangesOf(a)[a.address] = id;
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (!HasAddress(a.layer)) return;
    auto& ranges = RangesOf(a);
    const auto at = ranges.find(a.address);
    if (at != ranges.end() && at->second == id) ranges.erase(at);
  }
  void After(EventId event) {
    switch (events_.op(event.value)) {
      case Op::kLaunch:
        return Launch(event);
      case Op::kTouch:
        return Touch(event);
      case Op::kMemcpy:
        return CopyOf(event);
      case Op::kMemset:
        if (Captured(event)) return WillUse(event, events_.address(event.value));
        ++EvidenceAt(event).memsets;
        UseRange(event, Use::kMemset, events_.address(event.value), events_.bytes(event.value));
        return;
      default:
        return;
    }
  }

  void Finish() {
    Conclude();
    for (auto& [place, launches] : out_.unknown_launches_)
      std::sort(launches.begin(), launches.end());
    if (found_.empty()) return;
    const std::size_t count = session_.records().size();
    out_.begin_.assign(count + 1, 0);
    for (const auto& [id, access] : found_) ++out_.begin_[id.value + 1];
    for (std::size_t i = 0; i < count; ++i) out_.begin_[i + 1] += out_.begin_[i];
    out_.accesses_.resize(found_.size());
    std::vector<std::uint32_t> next(out_.begin_.begin(), out_.begin_.end() - 1);
    for (const auto& [id, access] : found_) out_.accesses_[next[id.value]++] = access;
    // A touch counts at its launch; a copy of another thread may come between the two.
    for (std::size_t i = 0; i < count; ++i) {
      std::stable_sort(out_.accesses_.begin() + out_.begin_[i],
                       out_.accesses_.begin() + out_.begin_[i + 1],
                       [](const Access& a, const Access& b) { return a.event < b.event; });
    }
  }

 private:
  // Ends the last launches, and sums up.
  void Conclude() {
    for (const auto& [thread, launch] : open_) Close(launch);
    for (const AccessEvidence& of_process : out_.of_process_) {
      out_.evidence_.launches += of_process.launches;
      out_.evidence_.known_launches += of_process.known_launches;
      out_.evidence_.copies += of_process.copies;
      out_.evidence_.memsets += of_process.memsets;
    }
  }

  using Ranges = absl::btree_map<std::uint64_t, AllocationId>;
  struct Launched {
    EventId event;
    bool touched = false;
  };
  struct Place {
    AllocationId id;
    std::uint64_t offset = 0;
  };

  Ranges& RangesOf(const AllocationRecord& a) {
    return a.layer == Layer::kBlock ? blocks_ : driver_;
  }

  AccessEvidence& EvidenceAt(EventId event) { return out_.of_process_[session_.ProcessOf(event)]; }
  std::pair<std::uint32_t, int> PlaceOf(EventId launch) const {
    return {session_.ProcessOf(launch), events_.device(launch.value)};
  }
  void Launch(EventId event) {
    if (events_.result(event.value) != 0) return;  // it did not happen
    ++EvidenceAt(event).launches;
    out_.launches_[PlaceOf(event)].push_back(event.value);
    Launched& open = open_[events_.thread(event.value)];
    Close(open);
    open = {event, false};
  }
  void Close(const Launched& launch) {
    if (!launch.event.valid()) return;
    if (launch.touched) {
      ++EvidenceAt(launch.event).known_launches;
    } else {
      out_.unknown_launches_[PlaceOf(launch.event)].push_back(launch.event.value);
    }
  }

  void Touch(EventId event) {
    Launched& launch = open_[events_.thread(event.value)];
    const bool known = launch.event.valid();
    if (known) launch.touched = true;
    const Place place = At(events_.address(event.value));
    if (!place.id.valid()) return;
    // If the launch precedes the birth of the memory, the events of the touch's own launch were
    // lost.
    const EventId at =
        known && launch.event > session_.record(place.id).birth ? launch.event : event;
    found_.push_back({place.id, {at, Use::kKernel, place.offset, 0}});
  }

  // Whether a copy or memset moved nothing, but became a node of a graph. The arguments of the
  // graph's launches are not known.
  bool Captured(EventId event) const { return (events_.aux1(event.value) & kCaptured) != 0; }
  // A graph's node may read and write the memory, as a kernel may.
  void WillUse(EventId event, std::uint64_t address) {
    const Place place = At(address);
    if (place.id.valid()) found_.push_back({place.id, {event, Use::kKernel, place.offset, 0}});
  }

  void CopyOf(EventId event) {
    if (Captured(event)) {
      WillUse(event, events_.aux0(event.value));
      return WillUse(event, events_.address(event.value));
    }
    ++EvidenceAt(event).copies;
    const std::uint32_t e = event.value;
    const std::uint64_t bytes = events_.bytes(e);
    const Place from = UseRange(event, Use::kCopyFrom, events_.aux0(e), bytes);
    const Place to = UseRange(event, Use::kCopyTo, events_.address(e), bytes);
    Accesses::Copy copy;
    copy.event = event;
    copy.source = from.id;
    copy.source_offset = from.offset;
    copy.destination = to.id;
    copy.destination_offset = to.offset;
    out_.copies_.push_back(copy);
  }

  // The innermost memory at `address`.
  Place At(std::uint64_t address) const {
    for (const Ranges* ranges : {&blocks_, &driver_}) {
      auto at = ranges->upper_bound(address);
      if (at == ranges->begin()) continue;
      --at;
      if (address < EndAddress(at->first, session_.record(at->second).bytes))
        return {at->second, address - at->first};
    }
    return {};
  }

  // Records a use of all pieces that [address, address + bytes) overlaps; returns the first.
  Place UseRange(EventId event, Use use, std::uint64_t address, std::uint64_t bytes) {
    const Place first = At(address);
    if (!first.id.valid()) return first;
    const std::uint64_t end = EndAddress(address, bytes);
    const Ranges& ranges = session_.record(first.id).layer == Layer::kBlock ? blocks_ : driver_;
    auto at = ranges.find(address - first.offset);
    for (int pieces = 0; at != ranges.end() && pieces < kMaxPieces; ++at, ++pieces) {
      if (pieces > 0 && at->first >= end) break;
      const std::uint64_t begin = std::max(address, at->first);
      const std::uint64_t piece_end =
          std::min(end, EndAddress(at->first, session_.record(at->second).bytes));
      found_.push_back(
          {at->second, {event, use, begin - at->first, piece_end > begin ? piece_end - begin : 0}});
    }
    return first;
  }

  const Session& session_;
  const EventTable& events_;
  Accesses& out_;
  Ranges blocks_, driver_;
  std::unordered_map<std::uint32_t, Launched>
      open_;  // by thread: the launch that touches belong to
  std::vector<std::pair<AllocationId, Access>> found_;
};

Accesses::Accesses(const Session& session)
    : session_(session), of_process_(std::max<std::size_t>(1, session.processes().size())) {
  const EventTable& events = session.events();
  if (!events.Has(Op::kLaunch) && !events.Has(Op::kTouch) && !events.Has(Op::kMemcpy) &&
      !events.Has(Op::kMemset))
    return;
  Collector collector(session, this);
  WalkLifetimes(session, collector);
  collector.Finish();
}

std::span<const Access> Accesses::Of(AllocationId id) const {
  if (begin_.empty()) return {};
  return std::span(accesses_).subspan(begin_[id.value], begin_[id.value + 1] - begin_[id.value]);
}

std::uint64_t Accesses::LaunchesBetween(const AllocationRecord& a, EventId after,
                                        EventId before) const {
  return CountBetween(launches_, session_.ProcessOf(a.birth), a.device, after, before);
}

std::uint64_t Accesses::UnknownLaunchesBetween(const AllocationRecord& a, EventId after,
                                               EventId before) const {
  return CountBetween(unknown_launches_, session_.ProcessOf(a.birth), a.device, after, before);
}

}  // namespace memprof::analysis
