// Packs events, and finds which fields its lifetime already has.
#include "analysis/store/event_table.h"

#include <limits>

#include "absl/container/flat_hash_map.h"

namespace memprof::analysis {

struct EventTable::Interner {
  absl::flat_hash_map<EventKind, std::uint32_t> rows;
  RecentKinds recent;
};

void EventTable::DropInterner::operator()(Interner* interner) const { delete interner; }

void EventTable::Reserve(std::size_t events, std::size_t allocations) {
  kind_.reserve(events);
  time_.reserve(events);
  ref_.reserve(events);
  blocks_.reserve(events / kBlock + 1);
  records_.reserve(allocations);
  interner_.reset(new Interner());
}

void EventTable::Finish() {
  interner_.reset();
  details_.shrink_to_fit();
  wide_times_.shrink_to_fit();
}

std::uint32_t EventTable::InternKind(const EventKind& kind) {
  std::uint32_t& row = interner_->recent.Of(kind);
  if (row != RecentKinds::kNone) return row;
  const auto [at, fresh] =
      interner_->rows.try_emplace(kind, static_cast<std::uint32_t>(kinds_.size()));
  if (fresh) kinds_.push_back(kind);
  return row = at->second;
}

// Times never fall, so a block's first is its least.
void EventTable::AppendTime(TimeNs time) {
  const std::size_t in_block = time_.size() % kBlock;
  if (in_block == 0) blocks_.push_back({.base = time});
  Block& block = blocks_.back();
  if (block.wide == kNarrow && time - block.base > std::numeric_limits<std::uint32_t>::max()) {
    block.wide = static_cast<std::uint32_t>(wide_times_.size());
    for (std::size_t i = time_.size() - in_block; i < time_.size(); ++i)
      wide_times_.push_back(block.base + time_[i]);
  }
  if (block.wide != kNarrow) wide_times_.push_back(time);
  time_.push_back(block.wide == kNarrow ? static_cast<std::uint32_t>(time - block.base) : 0);
}

// The fields of an event that has nothing beyond the lifetime which it begins or ends.
EventTable::Detail EventTable::PlainDetail(Op op, AllocationId id) const {
  const AllocationRecord& record = records_[id.value];
  Detail detail{.address = record.address, .bytes = record.bytes, .allocation = id};
  if (op != Op::kAlloc) return detail;
  detail.stack = record.stack;
  if (record.layer == Layer::kTensor) detail.label = record.tensor().value;
  if (record.layer == Layer::kStreamOrdered || record.layer == Layer::kBlock)
    detail.aux0 = record.extra;
  detail.aux1 = static_cast<std::uint64_t>(record.import_kind);
  return detail;
}

void EventTable::Append(const Event& event) {
  const Detail detail{event.address, event.bytes, event.aux0,   event.aux1,
                      event.stack,   event.label, event.result, event.allocation};
  EventKind kind = event;
  bool plain = false;
  if (event.allocation.valid() && (event.op == Op::kAlloc || event.op == Op::kFree)) {
    const AllocationRecord& record = records_[event.allocation.value];
    const bool same_place = event.layer == record.layer && event.device == record.device;
    plain = (event.op == Op::kFree ? same_place : event.layer == record.layer) &&
            detail == PlainDetail(event.op, event.allocation);
    // The layer and device of a free are looked up, so frees of all kinds of memory share a kind.
    if (plain && event.op == Op::kFree) kind.layer = Layer::kUnspecified, kind.device = kNoDevice;
  }
  kind_.push_back(InternKind(kind));
  AppendTime(event.time);
  if (plain) {
    ref_.push_back(event.allocation.value);
  } else {
    ref_.push_back(kDetail | static_cast<std::uint32_t>(details_.size()));
    details_.push_back(detail);
  }
}

Event EventTable::operator[](std::size_t i) const {
  Event event;
  static_cast<EventKind&>(event) = Kind(i);
  event.layer = layer(i);
  event.device = device(i);
  event.time = time(i);
  const Detail detail = IsPlain(i) ? PlainDetail(event.op, AllocationId(ref_[i])) : DetailOf(i);
  event.address = detail.address;
  event.bytes = detail.bytes;
  event.aux0 = detail.aux0;
  event.aux1 = detail.aux1;
  event.stack = detail.stack;
  event.label = detail.label;
  event.result = detail.result;
  event.allocation = detail.allocation;
  return event;
}

StackId EventTable::stack(std::size_t i) const {
  if (!IsPlain(i)) return DetailOf(i).stack;
  return op(i) == Op::kAlloc ? records_[ref_[i]].stack : StackId();
}

std::uint32_t EventTable::label(std::size_t i) const {
  return IsPlain(i) ? PlainDetail(op(i), AllocationId(ref_[i])).label : DetailOf(i).label;
}

std::uint64_t EventTable::aux0(std::size_t i) const {
  return IsPlain(i) ? PlainDetail(op(i), AllocationId(ref_[i])).aux0 : DetailOf(i).aux0;
}

std::uint64_t EventTable::aux1(std::size_t i) const {
  return IsPlain(i) ? PlainDetail(op(i), AllocationId(ref_[i])).aux1 : DetailOf(i).aux1;
}

std::size_t EventTable::memory_bytes() const {
  const auto of = [](const auto&... all) { return ((all.capacity() * sizeof(all[0])) + ...); };
  return of(kinds_, kind_, time_, ref_, blocks_, wide_times_, details_, records_);
}

}  // namespace memprof::analysis
