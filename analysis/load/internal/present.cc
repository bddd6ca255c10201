// One pass over the events, until every address in question has had its first.
#include "analysis/load/internal/present.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/load/internal/spaces.h"

namespace memprof::analysis {
namespace {

using Row = std::uint32_t;
using Spot = std::pair<std::uint64_t, std::uint64_t>;  // space and device, address

class Resolver {
 public:
  Resolver(bool attached, TimeNs begin, RawEvents* events, std::vector<Row>* order)
      : attached_(attached), begin_(begin), events_(*events), order_(*order) {}

  std::size_t Run() {
    const auto is_listed = [this](Row row) { return events_.KindOf(row).op == Op::kPresent; };
    const auto end = std::stable_partition(order_.begin(), order_.end(), is_listed);
    const auto listed = static_cast<std::size_t>(end - order_.begin());
    if (listed == 0 && !attached_) return 0;
    if (end != order_.end()) begin_ = std::min(begin_, events_.rows[*end].time - 1);
    for (std::size_t i = 0; i < listed; ++i) {
      const Row row = order_[i];
      events_.rows[row].time = begin_;
      if (!present_.try_emplace(PlaceOf(row), row).second) void_.insert(row);  // listed twice
    }
    for (std::size_t i = listed; i < order_.size(); ++i) {
      const Op op = events_.KindOf(order_[i]).op;
      if ((op == Op::kAlloc || op == Op::kFree) && seen_.insert(PlaceOf(order_[i])).second)
        op == Op::kAlloc ? Allocated(order_[i]) : Freed(order_[i]);
    }
    return Apply(listed);
  }

 private:
  // Driver memory is freed by functions of any family, and on any device.
  Spot PlaceOf(Row row) const {
    const EventKind& kind = events_.KindOf(row);
    const bool framework = IsFrameworkLayer(kind.layer);
    const auto layer = framework ? static_cast<std::uint64_t>(kind.layer) : 0;
    const auto device = framework ? static_cast<std::uint64_t>(kind.device + 1) : 0;
    return {layer << 32 | device, events_.rows[row].address};
  }

  void Allocated(Row row) {
    const Spot place = PlaceOf(row);
    const auto known = present_.find(place);
    if (events_.KindOf(row).layer == Layer::kSegment && !IsNew(events_.rows[row].address)) {
      // The recorder meets an old segment when it sees its first block.
      if (known != present_.end() || LiesInPresent(place)) void_.insert(row);
    } else if (known != present_.end()) {
      void_.insert(known->second);
    }
  }

  // Whether the driver has allocated there since.
  bool IsNew(std::uint64_t address) const { return seen_.contains(Spot{0, address}); }

  // An expandable segment is listed as a whole, and met by its pages.
  bool LiesInPresent(const Spot& page) const {
    auto at = present_.upper_bound(page);
    if (at == present_.begin()) return false;
    --at;
    return at->first.first == page.first &&
           page.second - at->first.second < events_.rows[at->second].bytes;
  }

  void Freed(Row row) {
    const auto known = present_.find(PlaceOf(row));
    const std::uint64_t bytes = events_.rows[row].bytes;
    if (bytes == 0) return;
    if (known != present_.end())
      events_.rows[known->second].bytes = bytes;
    else if (attached_ && events_.KindOf(row).layer == Layer::kBlock)
      freed_.push_back(row);
  }

  std::size_t Apply(std::size_t listed) {
    std::vector<Row> order;
    order.reserve(order_.size() + freed_.size());
    const auto keep = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i)
        if (!void_.contains(order_[i])) order.push_back(order_[i]);
    };
    keep(0, listed);
    for (const Row row : freed_) order.push_back(Add(row));
    const std::size_t before = order.size();
    keep(listed, order_.size());
    order_ = std::move(order);
    for (EventKind& kind : events_.kinds)
      if (kind.op == Op::kPresent) kind.op = Op::kAlloc;
    return before;
  }

  // A row for a block that was freed before the list was taken.
  Row Add(Row free) {
    EventKind kind = events_.KindOf(free);
    kind.op = Op::kAlloc;
    RawEvents::Row row = events_.rows[free];
    row.time = begin_;
    row.kind = static_cast<std::uint32_t>(events_.kinds.size());
    row.stack = {};
    row.detail = RawEvents::kNone;
    events_.kinds.push_back(kind);
    events_.rows_of_kind.push_back(1);
    events_.rows.push_back(row);
    return static_cast<Row>(events_.rows.size() - 1);
  }

  const bool attached_;
  TimeNs begin_;
  RawEvents& events_;
  std::vector<Row>& order_;
  absl::btree_map<Spot, Row> present_;
  absl::flat_hash_set<Spot> seen_;
  absl::flat_hash_set<Row> void_;
  std::vector<Row> freed_;
};

}  // namespace

std::size_t ResolvePresent(bool attached, TimeNs begin, RawEvents* events,
                           std::vector<std::uint32_t>* order) {
  const auto listed = [&] {
    for (std::size_t i = 0; i < events->kinds.size(); ++i)
      if (events->kinds[i].op == Op::kPresent && events->rows_of_kind[i] > 0) return true;
    return false;
  };
  return attached || listed() ? Resolver(attached, begin, events, order).Run() : 0;
}

}  // namespace memprof::analysis
