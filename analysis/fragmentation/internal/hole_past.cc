// Finds the history of free memory: by a search through the events for one query, by an index for
// many.
#include "analysis/fragmentation/internal/hole_past.h"

#include <algorithm>
#include <limits>

#include "absl/container/btree_map.h"
#include "analysis/base/sizes.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// The next copy is stored after this many ends for each of its entries. An entry takes 12 B.
constexpr std::size_t kEndsPerEntry = 2, kMinEnds = 64;

// Calls `visit(piece index)` for the holes that [address, end) touches.
template <typename Visit>
void ForHolesIn(const MapSegment& segment, std::uint64_t address, std::uint64_t end, Visit visit) {
  const std::vector<MapPiece>& pieces = segment.pieces;
  auto piece = std::upper_bound(pieces.begin(), pieces.end(), address,
                                [](std::uint64_t a, const MapPiece& p) { return a < p.address; });
  if (piece != pieces.begin()) --piece;
  for (; piece != pieces.end() && piece->address < end; ++piece) {
    if (piece->hole() && piece->address + piece->bytes > address)
      visit(static_cast<std::size_t>(piece - pieces.begin()));
  }
}

// Calls `visit(allocation)` for the allocations of a segment: itself, and its adjoining pages.
template <typename Visit>
void ForPages(const MapSegment& segment, Visit visit) {
  visit(segment.allocation);
  for (const AllocationId page : segment.more_pages) visit(page);
}

// For the search of the last end in each hole: kForever = not found yet.
class LastEndSearch {
 public:
  explicit LastEndSearch(std::span<const MapSegment> segments)
      : segments_(segments), times_(segments.size()), unresolved_of_(segments.size()) {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      times_[s].assign(segments[s].pieces.size(), 0);
      for (std::size_t i = 0; i < segments[s].pieces.size(); ++i) {
        if (!segments[s].pieces[i].hole()) continue;
        times_[s][i] = kForever;
        ++unresolved_of_[s];
      }
      unresolved_ += unresolved_of_[s];
    }
  }
  std::size_t unresolved() const { return unresolved_; }
  std::size_t unresolved_of(std::size_t segment) const { return unresolved_of_[segment]; }
  // A block that ended at `time` was in [address, end); called latest first.
  void Ended(std::size_t segment, std::uint64_t address, std::uint64_t end, TimeNs time) {
    if (unresolved_of_[segment] == 0) return;
    ForHolesIn(segments_[segment], address, end, [&](std::size_t piece) {
      if (times_[segment][piece] != kForever) return;
      times_[segment][piece] = time;
      --unresolved_of_[segment];
      --unresolved_;
    });
  }
  // Memory that was never in use is free since the birth of its segment.
  TimesOfPieces Finish(const Session& session) && {
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      const EventId birth = session.record(segments_[s].allocation).birth;
      for (TimeNs& time : times_[s])
        if (time == kForever) time = session.events().time(birth.value);
    }
    return std::move(times_);
  }

 private:
  const std::span<const MapSegment> segments_;
  TimesOfPieces times_;
  std::vector<std::size_t> unresolved_of_;  // holes, by segment
  std::size_t unresolved_ = 0;
};

// The event of the last end at each address of a segment.
class LastEnds {
 public:
  LastEnds() { from_[0] = EventId(); }
  void End(std::uint64_t address, std::uint64_t end, EventId event) {
    if (address >= end) return;
    const EventId after = std::prev(from_.upper_bound(end))->second;
    from_.erase(from_.lower_bound(address), from_.upper_bound(end));
    from_[end] = after;
    from_[address] = event;
  }
  const absl::btree_map<std::uint64_t, EventId>& from() const { return from_; }

 private:
  absl::btree_map<std::uint64_t, EventId> from_;  // up to the next address
};

// Consecutive reads of records are scattered in memory: prefetches the one a few iterations ahead.
constexpr int kAhead = 8;
void Prefetch(const Session& session, AllocationId id) { __builtin_prefetch(&session.record(id)); }

}  // namespace

PoolKey PoolOf(const Allocation& segment) {
  return {segment.device, segment.pool, segment.stream, segment.bytes <= kSmallSegmentBytes};
}

LargestRequests::LargestRequests(const Session& session, EventId until) {
  // By segment: its pool in the map, because millions of blocks are in few segments.
  absl::flat_hash_map<std::uint32_t, Growth*> of_segment;
  AllocationId segment;  // of the previous block: neighbours are often in the same one
  Growth* growth = nullptr;
  for (const AllocationRecord& a : session.records()) {
    if (!until.valid() || a.birth > until) break;  // in order of birth
    if (a.layer != Layer::kBlock || !a.parent.valid()) continue;
    if (a.parent != segment) {
      if (session.record(a.parent).layer != Layer::kSegment) continue;
      segment = a.parent;
      Growth*& known = of_segment[segment.value];
      if (known == nullptr) known = &pools_[PoolOf(session.allocation(segment))];
      growth = known;
    }
    if (growth->empty() || a.bytes > growth->back().second) growth->emplace_back(a.birth, a.bytes);
  }
}

std::uint64_t LargestRequests::At(const PoolKey& pool, EventId event) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end() || !event.valid()) return 0;
  const Growth& growth = found->second;
  const auto after =
      std::upper_bound(growth.begin(), growth.end(), event,
                       [](EventId e, const auto& change) { return e < change.first; });
  return after == growth.begin() ? 0 : std::prev(after)->second;
}

TimesOfPieces LookBackAtHoles(const Session& session, std::span<const MapSegment> segments,
                              TimeNs now) {
  LastEndSearch search(segments);
  absl::flat_hash_map<std::uint32_t, std::size_t> of;  // segments with holes, by their pages
  std::uint32_t first = EventId::kNone;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    if (search.unresolved_of(s) == 0) continue;
    ForPages(segments[s], [&](AllocationId page) {
      of[page.value] = s;
      first = std::min(first, session.record(page).birth.value);
    });
  }
  const auto ended = [&](AllocationId id) {
    const AllocationRecord& block = session.record(id);
    if (block.layer != Layer::kBlock || !block.parent.valid()) return;
    const auto found = of.find(block.parent.value);
    if (found == of.end()) return;
    search.Ended(found->second, block.address, EndAddress(block.address, block.bytes),
                 session.events().time(block.death.value));
  };
  const EventId from = session.EventAt(now);
  const EventTable& events = session.events();
  std::span<const AllocationId> others = session.other_deaths();  // by death
  for (std::uint32_t e = from.valid() ? from.value + 1 : 0;
       search.unresolved() > 0 && e-- > first;) {
    while (!others.empty() && session.record(others.back()).death.value >= e) {
      if (session.record(others.back()).death.value == e) ended(others.back());
      others = others.first(others.size() - 1);
    }
    if (events.op(e) != Op::kFree) continue;
    const AllocationId id = events.allocation(e);
    if (id.valid() && session.record(id).death.value == e) ended(id);
  }
  return std::move(search).Finish(session);
}

HoleIndex::HoleIndex(const Session& session) {
  for (std::uint32_t row = 0; row < session.records().size(); ++row) {
    const Layer layer = session.records()[row].layer;
    if (layer != Layer::kBlock && layer != Layer::kTensor) Add(session, AllocationId(row));
  }
  ends_.shrink_to_fit();
  addresses_.shrink_to_fit();
  last_.shrink_to_fit();
}

void HoleIndex::Add(const Session& session, AllocationId segment) {
  Past past;
  past.first_end = ends_.size();
  past.first_copy = copies_.size();
  // Sorted together with the event of their end: records lie anywhere in memory.
  std::vector<std::pair<EventId, AllocationId>> ended;
  for (const AllocationId id : session.Children(segment)) {
    const AllocationRecord& a = session.record(id);
    if (a.layer == Layer::kBlock && a.death.valid()) ended.emplace_back(a.death, id);
  }
  past.ends = ended.size();
  if (past.ends == 0) return;
  std::sort(ended.begin(), ended.end());
  for (const auto& [death, id] : ended) ends_.push_back(id);
  const std::span<const AllocationId> ends = std::span(ends_).subspan(past.first_end);
  LastEnds last;
  std::size_t since_copy = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (since_copy >= std::max(kMinEnds, kEndsPerEntry * last.from().size())) {
      copies_.push_back({static_cast<std::uint32_t>(i), addresses_.size()});
      for (const auto& [address, event] : last.from()) {
        addresses_.push_back(address);
        last_.push_back(event);
      }
      since_copy = 0;
    }
    if (i + kAhead < ends.size()) Prefetch(session, ends[i + kAhead]);
    const AllocationRecord& block = session.record(ends[i]);
    const std::uint64_t end = EndAddress(block.address, block.bytes);
    last.End(block.address, end, block.death);
    past.end_address = std::max(past.end_address, end);
    ++since_copy;
  }
  past.copies = copies_.size() - past.first_copy;
  segments_.emplace(segment.value, past);
}

// A query about one segment: the last end in each of its holes, up to an event.
class HoleIndex::SegmentQuery {
 public:
  SegmentQuery(const HoleIndex& index, const Session& session, const MapSegment& segment,
               EventId now)
      : index_(index), session_(session), segment_(segment), now_(now) {}

  // Adds the ends in one page to `last`, by piece; none = not found yet.
  void Page(const Past& past, std::vector<EventId>& last) const {
    const std::span<const AllocationId> ends =
        std::span(index_.ends_).subspan(past.first_end, past.ends);
    const std::span<const Copy> copies =
        std::span(index_.copies_).subspan(past.first_copy, past.copies);
    const auto is_later = [this](EventId now, AllocationId id) {
      return now < session_.record(id).death;
    };
    const auto later = std::upper_bound(
        copies.begin(), copies.end(), now_,
        [&](EventId now, const Copy& copy) { return is_later(now, ends[copy.ends - 1]); });
    const std::size_t begin = later == copies.begin() ? 0 : std::prev(later)->ends;
    const std::size_t limit = later == copies.end() ? ends.size() : later->ends;
    const std::span<const AllocationId> since = ends.subspan(begin, limit - begin);
    const auto stop = std::upper_bound(since.begin(), since.end(), now_, is_later);
    // Back in time until every hole is resolved; those that another page resolved do not count.
    std::size_t unresolved = Holes();
    for (auto end = stop; end != since.begin() && unresolved > 0;) {
      if (end - since.begin() > kAhead) Prefetch(session_, *(end - 1 - kAhead));
      const AllocationRecord& block = session_.record(*--end);
      ForHolesIn(segment_, block.address, EndAddress(block.address, block.bytes),
                 [&](std::size_t piece) {
                   unresolved -= !last[piece].valid();
                   Take(block.death, last[piece]);
                 });
    }
    if (later != copies.begin() && unresolved > 0) FromCopy(*std::prev(later), past, last);
  }

 private:
  std::size_t Holes() const {
    return static_cast<std::size_t>(
        std::count_if(segment_.pieces.begin(), segment_.pieces.end(),
                      [](const MapPiece& piece) { return piece.hole(); }));
  }
  // Holes and the entries of the copy are both in order of addresses.
  void FromCopy(const Copy& copy, const Past& past, std::vector<EventId>& last) const {
    const std::size_t next = static_cast<std::size_t>(&copy - index_.copies_.data()) + 1;
    const std::size_t stop =
        next < index_.copies_.size() ? index_.copies_[next].first : index_.addresses_.size();
    const auto end_of = [&](std::size_t i) {
      return i + 1 < stop ? index_.addresses_[i + 1] : past.end_address;
    };
    std::size_t i = copy.first + 1;  // before the first block's address nothing is known
    const std::uint64_t from = i < stop ? index_.addresses_[i] : past.end_address;
    ForHolesIn(segment_, from, past.end_address, [&](std::size_t p) {
      const MapPiece& hole = segment_.pieces[p];
      while (i < stop && end_of(i) <= hole.address) ++i;
      for (std::size_t j = i; j < stop && index_.addresses_[j] < hole.address + hole.bytes; ++j)
        if (index_.last_[j].valid()) Take(index_.last_[j], last[p]);
    });
  }
  static void Take(EventId event, EventId& last) {
    if (!last.valid() || last < event) last = event;
  }

  const HoleIndex& index_;
  const Session& session_;
  const MapSegment& segment_;
  const EventId now_;
};

TimesOfPieces HoleIndex::At(const Session& session, std::span<const MapSegment> segments,
                            TimeNs now) const {
  TimesOfPieces times(segments.size());
  const EventId event = session.EventAt(now);
  std::vector<EventId> last;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const MapSegment& segment = segments[s];
    last.assign(segment.pieces.size(), EventId());
    ForPages(segment, [&](AllocationId page) {
      const auto past = segments_.find(page.value);
      if (past != segments_.end() && event.valid())
        SegmentQuery(*this, session, segment, event).Page(past->second, last);
    });
    const TimeNs birth = session.events().time(session.record(segment.allocation).birth.value);
    for (std::size_t i = 0; i < last.size(); ++i) {
      times[s].push_back(!segment.pieces[i].hole() ? 0
                         : last[i].valid()         ? session.events().time(last[i].value)
                                                   : birth);
    }
  }
  return times;
}

std::size_t HoleIndex::memory_bytes() const {
  return ends_.capacity() * sizeof ends_[0] + copies_.capacity() * sizeof copies_[0] +
         addresses_.capacity() * sizeof addresses_[0] + last_.capacity() * sizeof last_[0];
}

}  // namespace memprof::analysis
