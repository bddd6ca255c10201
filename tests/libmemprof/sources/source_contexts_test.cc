// Events of a source name their context, but may not know its device.
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/sources/source_host.h"
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::Event;
using ::testing::IsEmpty;

class SourceContexts : public HooksTest {
 protected:
  static void Report(std::uint32_t op, std::int32_t device, std::uint64_t context) {
    SourceEvent event{};
    event.op = op;
    event.layer = kLayerPinned;
    event.device = device;
    event.context = context;
    event.address = 0x5000;
    SourceTable().record(&event);
  }
};

TEST_F(SourceContexts, MemoryOfTheHostDefinesItsContextOnTheRightDevice) {
  Start();
  driver_.current = static_cast<CUcontext>(At(0xe1));
  driver_.device = 1;
  Report(kOpAlloc, -1, 0xe1);
  const testing::Log log = Finish();
  ASSERT_EQ(log.events.size(), 1u);
  EXPECT_EQ(log.events[0].device, -1);
  EXPECT_EQ(log.contexts.at(log.events[0].context).handle(), 0xe1u);
  EXPECT_EQ(log.contexts.at(log.events[0].context).device(), 1u);
  EXPECT_EQ(log.devices.count(1), 1u);
}

TEST_F(SourceContexts, AContextThatNothingIsKnownOfIsDefinedLater) {
  Start();
  Report(kOpAlloc, -1, 0xe2);         // not the current context
  Report(kOpContextCreate, 1, 0xe2);  // now its device is known
  Report(kOpAlloc, -1, 0xe2);
  const testing::Log log = Finish();
  EXPECT_EQ(log.events[0].context, 0u);
  EXPECT_NE(log.events[1].context, 0u);
  EXPECT_EQ(log.events[2].context, log.events[1].context);
  EXPECT_EQ(log.events[2].device, -1);
  EXPECT_EQ(log.contexts.at(log.events[1].context).handle(), 0xe2u);
  EXPECT_EQ(log.contexts.at(log.events[1].context).device(), 1u);
}

TEST_F(SourceContexts, TheCurrentDeviceIsFoundByTheRecorder) {
  Start();
  driver_.device = 1;
  Report(kOpAlloc, -2, 0);
  driver_.current = nullptr;
  Report(kOpAlloc, -2, 0);
  const testing::Log log = Finish();
  EXPECT_EQ(log.events[0].device, 1);
  EXPECT_EQ(log.contexts.at(log.events[0].context).handle(), 0xa0u);
  EXPECT_EQ(log.events[1].device, -1);
  EXPECT_EQ(log.events[1].context, 0u);
}

TEST_F(SourceContexts, HostileCallsDoNothing) {
  const RecorderApi& table = SourceTable();
  table.record(nullptr);
  EXPECT_EQ(table.intern("x", 1), 0u) << "nothing is recorded yet";
  table.source_state("cupti", kSourceOn, nullptr);
  Start();
  EXPECT_EQ(table.intern(nullptr, 5), 0u);
  table.source_state(nullptr, kSourceOn, "who?");
  table.source_state("cupti", kSourceRefused, nullptr);
  table.count_anomaly(static_cast<int>(log::Anomaly::kCount), 1);
  EXPECT_EQ(table.real_driver_function(nullptr), nullptr);
  EXPECT_EQ(table.real_driver_function("cuNoSuchFunction"), nullptr);
  EXPECT_NE(table.real_driver_function("cuMemAlloc_v2"), nullptr);
  EXPECT_NE(table.real_driver_function("cuMemAlloc_v2"), Wrapper("cuMemAlloc_v2"));
  const testing::Log log = Finish();
  EXPECT_THAT(log.events, IsEmpty());
  EXPECT_EQ(log.sources.size(), 2u) << "the driver and one of cupti";
  EXPECT_EQ(log.sources.back().detail(), "");
  EXPECT_EQ(log.counters.at("cupti_refused"), 1u);
}

}  // namespace
}  // namespace memprof::recorder
