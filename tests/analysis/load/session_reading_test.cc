// Sessions of logs that are unusual, truncated or still being written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analysis/load/load.h"
#include "analysis/log/decode.h"
#include "analysis/store/session.h"
#include "analysis/testing/column.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::Column;
using testing::CountOf;
using ::testing::ElementsAre;
using testing::LoadLog;
using testing::LogBuilder;
using testing::TempDirectory;

TEST(SessionTest, TextsAreMadeValidUtf8) {
  HeaderRecord header;
  ASSERT_TRUE(DecodeHeader("\x32\x07/tmp/\xff\xfe\x3a\x02\xc3x", &header));
  EXPECT_EQ(header.run.executable, "/tmp/\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_THAT(header.run.arguments, ElementsAre("\xef\xbf\xbd"
                                                "x"));
}

TEST(SessionTest, UnknownOpsAndIdsAreHarmless) {
  LogBuilder log;
  log.Event(static_cast<Op>(99), Layer::kLinear, 0x1000, 64, 0, {});
  log.Event(Op::kAlloc, static_cast<Layer>(77), 0x2000, 64, 0, {});
  log.Event(Op::kAlloc, Layer::kLinear, 0x3000, 64, 12345,
            {.device = 3, .stack = 999, .thread = 4'000'000'000u, .context = 77});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(CountOf(*session, log::Anomaly::kEventsUnknown), 2u);
  EXPECT_EQ(session->events().op(0), Op::kUnspecified);
  ASSERT_EQ(session->allocations().size(), 1u);
  EXPECT_FALSE(session->allocations()[0].stack.valid());
  EXPECT_EQ(session->events().context(2), EventId::kNone);
  ASSERT_EQ(session->devices().size(), 2u);  // 0 and 3, though neither was defined
  EXPECT_EQ(session->devices()[1].id, 3);
}

TEST(SessionTest, ProgressRisesAndCancels) {
  LogBuilder log;
  for (int i = 0; i < 100; ++i) log.Alloc(Layer::kLinear, 0x1000u * (i + 1), 64);
  const TempDirectory directory;
  const std::string path = directory.Write("p.mprof", log.Bytes({.events_per_chunk = 10}));
  double last = -1;
  int calls = 0;
  LoadOptions options;
  options.progress = [&](double share) {
    EXPECT_GE(share, last);
    EXPECT_LE(share, 1.0);
    last = share;
    ++calls;
    return true;
  };
  EXPECT_TRUE(LoadLogs({path}, options).ok());
  EXPECT_GT(calls, 2);
  options.progress = [](double) { return false; };
  EXPECT_EQ(LoadLogs({path}, options).status().code(), absl::StatusCode::kCancelled);
}

TEST(SessionTest, MaxEventsStopsAtAChunk) {
  LogBuilder log;
  for (int i = 0; i < 100; ++i) log.Alloc(Layer::kLinear, 0x1000u * (i + 1), 64);
  const TempDirectory directory;
  const std::string path = directory.Write("p.mprof", log.Bytes({.events_per_chunk = 10}));
  LoadOptions options;
  options.max_events = 25;
  const auto session = LoadLogs({path}, options);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->events().size(), 30u);
}

TEST(SessionTest, SameWithAndWithoutIndexTrailerAndCompression) {
  LogBuilder log;
  for (int i = 0; i < 1000; ++i) {
    log.Alloc(Layer::kLinear, 0x1000u * (i + 1), 64 + i);
    if (i % 3 == 0) log.Free(0x1000u * (i + 1));
  }
  const auto whole = LoadLog(log);
  ASSERT_NE(whole, nullptr);
  for (const bool compress : {false, true})
    for (const bool trailer : {false, true})
      for (const bool index : {false, true}) {
        const auto other = LoadLog(
            log, {.events_per_chunk = 7, .compress = compress, .trailer = trailer, .index = index});
        ASSERT_NE(other, nullptr);
        EXPECT_EQ(other->run().complete, trailer);
        EXPECT_EQ(Column(other->events(), &EventTable::address),
                  Column(whole->events(), &EventTable::address));
        EXPECT_EQ(Column(other->events(), &EventTable::time),
                  Column(whole->events(), &EventTable::time));
        EXPECT_EQ(Column(other->events(), &EventTable::allocation),
                  Column(whole->events(), &EventTable::allocation));
        EXPECT_EQ(other->allocations().size(), whole->allocations().size());
      }
}

TEST(SessionTest, LogOfALivingProcessIsGrowing) {
  const TempDirectory directory;
  LogBuilder log;
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  log.header().set_hostname(host);
  log.header().set_pid(static_cast<std::uint32_t>(getpid()));
  log.header().set_ring_path(directory.Write("ring", "x"));
  log.Alloc(Layer::kLinear, 0x1000, 64);
  const std::string bytes = log.Bytes({.trailer = false});
  // The same while a chunk is being written.
  const auto session =
      LoadLogs({directory.Write("a.mprof", bytes + std::string("PCHK"))}, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE((*session)->run().growing);
  EXPECT_FALSE((*session)->run().complete);
  EXPECT_TRUE((*session)->anomalies().empty());
  // Without the ring, the pid belongs to another process, or recording ended.
  log.header().set_ring_path(directory.File("no such ring"));
  const auto gone =
      LoadLogs({directory.Write("b.mprof", log.Bytes({.trailer = false}))}, {.find_steps = false});
  ASSERT_TRUE(gone.ok()) << gone.status();
  EXPECT_FALSE((*gone)->run().growing);
  EXPECT_EQ(CountOf(**gone, log::Anomaly::kRingGone), 1u);
}

}  // namespace
}  // namespace memprof::analysis
