// Events are read from the table as they were added, whatever their compact form.
#include "analysis/store/event_table.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace memprof::analysis {
namespace {

constexpr Layer kLayers[] = {Layer::kLinear, Layer::kStreamOrdered, Layer::kImported,
                             Layer::kBlock,  Layer::kTensor,        Layer::kPinned};

// Realistic events: births and frees, most of which contain no more than their record, but some do;
// and other events.
class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_(seed) {}

  std::vector<Event> Write(EventTable* table, std::size_t count) {
    table->Reserve(count, count);
    std::vector<Event> events;
    TimeNs now = 1'000'000;
    for (std::size_t i = 0; i < count; ++i) {
      now += Draw(50) == 0 ? 0 : Draw(1000);
      if (Draw(700) == 0) now += std::uint64_t{5'000'000'000} * Draw(3);
      Event event = Draw(3) == 0                    ? Other()
                    : live_.empty() || Draw(2) == 0 ? Birth(table, i)
                                                    : Free(table, i);
      event.time = now;
      event.thread = Draw(3);
      table->Append(event);
      events.push_back(event);
    }
    table->Finish();
    return events;
  }

 private:
  std::uint32_t Draw(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  Event Birth(EventTable* table, std::size_t row) {
    Event event;
    event.op = Op::kAlloc;
    event.layer = kLayers[Draw(6)];
    event.device = static_cast<std::int16_t>(Draw(2));
    event.api = StringId(Draw(4));
    event.stream = Draw(3);
    event.address = 0x1000 + random_() % 100'000;
    event.bytes = random_();
    event.stack = Draw(5) == 0 ? StackId() : StackId(Draw(100));
    if (event.layer == Layer::kTensor) event.label = Draw(4) == 0 ? EventId::kNone : Draw(9);
    if (event.layer == Layer::kBlock || event.layer == Layer::kStreamOrdered) event.aux0 = Draw(3);
    if (event.layer == Layer::kImported) event.aux1 = Draw(5);
    AllocationRecord record;
    record.layer = event.layer;
    record.device = event.layer == Layer::kPinned ? kNoDevice : event.device;
    record.address = event.address;
    record.bytes = event.bytes;
    record.stack = event.stack;
    record.birth = EventId(static_cast<std::uint32_t>(row));
    record.extra = event.layer == Layer::kTensor ? event.label : event.aux0;
    record.import_kind = static_cast<ImportKind>(event.aux1);
    event.allocation = AllocationId(static_cast<std::uint32_t>(table->records().size()));
    table->mutable_records()->push_back(record);
    live_.push_back(event.allocation);
    SayMore(&event);
    return event;
  }

  Event Free(EventTable* table, std::size_t row) {
    const std::size_t which = Draw(static_cast<std::uint32_t>(live_.size()));
    AllocationRecord& record = (*table->mutable_records())[live_[which].value];
    Event event;
    event.op = Op::kFree;
    event.layer = record.layer;
    event.device = record.device;
    event.stream = Draw(3);
    event.address = record.address;
    event.bytes = record.bytes;
    event.allocation = live_[which];
    record.death = EventId(static_cast<std::uint32_t>(row));
    record.end_reason = EndReason::kFreed;
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
    SayMore(&event);
    return event;
  }

  Event Other() {
    Event event;
    event.op = Draw(2) == 0 ? Op::kFree : Op::kStep;  // an unmatched free, or a mark
    event.layer = kLayers[Draw(6)];
    event.address = random_();
    event.aux0 = random_();
    event.label = Draw(5);
    if (Draw(4) == 0 && !live_.empty()) event.allocation = live_.front();  // a mark on memory
    if (event.op == Op::kFree) event.allocation = AllocationId();
    return event;
  }

  // Information that the record does not contain.
  void SayMore(Event* event) {
    switch (Draw(40)) {
      case 0:
        event->address += 1;
        break;
      case 1:
        event->bytes += 1;
        break;
      case 2:
        event->aux0 += 7;
        break;
      case 3:
        event->aux1 += 7;
        break;
      case 4:
        event->stack = StackId(12345);
        break;
      case 5:
        event->label = 777;
        break;
      case 6:
        event->result = 2;
        break;
      case 7:
        if (event->op == Op::kFree) event->device = 9;
        break;
      case 8:
        if (event->op == Op::kFree) event->layer = Layer::kArray;
        break;
      default:
        break;
    }
  }

  std::mt19937_64 random_;
  std::vector<AllocationId> live_;
};

void ExpectSame(const EventTable& table, std::size_t i, const Event& event) {
  const Event whole = table[i];
  EXPECT_EQ(static_cast<const EventKind&>(whole), static_cast<const EventKind&>(event));
  EXPECT_EQ(whole.time, event.time);
  EXPECT_EQ(whole.stack, event.stack);
  EXPECT_EQ(table.op(i), event.op);
  EXPECT_EQ(table.layer(i), event.layer);
  EXPECT_EQ(table.device(i), event.device);
  EXPECT_EQ(table.thread(i), event.thread);
  EXPECT_EQ(table.context(i), event.context);
  EXPECT_EQ(table.api(i), event.api);
  EXPECT_EQ(table.stream(i), event.stream);
  EXPECT_EQ(table.time(i), event.time);
  EXPECT_EQ(table.address(i), event.address);
  EXPECT_EQ(table.bytes(i), event.bytes);
  EXPECT_EQ(table.stack(i), event.stack);
  EXPECT_EQ(table.label(i), event.label);
  EXPECT_EQ(table.result(i), event.result);
  EXPECT_EQ(table.aux0(i), event.aux0);
  EXPECT_EQ(table.aux1(i), event.aux1);
  EXPECT_EQ(table.allocation(i), event.allocation);
}

TEST(EventTableTest, ReleasesWhatItTook) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    EventTable table;
    const std::vector<Event> events = Writer(seed).Write(&table, 5000);
    ASSERT_EQ(table.size(), events.size());
    EXPECT_EQ(table.first_time(), events.front().time);
    EXPECT_EQ(table.last_time(), events.back().time);
    for (std::size_t i = 0; i < events.size() && !HasFailure(); ++i) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " event " << i);
      ExpectSame(table, i, events[i]);
    }
  }
}

TEST(EventTableTest, AnEmptyOneHasNoTimes) {
  const EventTable table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.first_time(), 0u);
  EXPECT_EQ(table.last_time(), 0u);
}

// The memory bound of the store, for ordinary births and frees.
TEST(EventTableTest, APairTakesNoMoreThanItsRecordAndTwoRows) {
  constexpr std::size_t kPairs = 100'000;
  EventTable table;
  table.Reserve(2 * kPairs, kPairs);
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    Event event;
    event.op = Op::kAlloc;
    event.layer = Layer::kLinear;
    event.time = 1000 * i;
    event.address = 4096 * i;
    event.bytes = i;
    event.allocation = AllocationId(i);
    table.mutable_records()->push_back(
        {.address = event.address, .bytes = i, .birth = EventId(2 * i), .layer = Layer::kLinear});
    table.Append(event);
    event.op = Op::kFree;
    event.device = kNoDevice;
    table.Append(event);
  }
  table.Finish();
  EXPECT_LT(table.memory_bytes(), 2 * kPairs * 37);
}

}  // namespace
}  // namespace memprof::analysis
