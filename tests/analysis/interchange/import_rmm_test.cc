// RMM's CSV files as logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report/report.h"
#include "tests/analysis/interchange/toy_allocator.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::ImportAndLoad;
using testing::ImportStatus;

constexpr char kHeader[] = "Thread,Time,Action,Pointer,Size,Stream\n";

std::shared_ptr<const Session> Load(const std::string& rows, const std::string& name = "log.csv",
                                    ImportSummary* summary = nullptr) {
  return ImportAndLoad(kHeader + rows, summary, name);
}

TEST(RmmTest, AllocationsFreesAndFailures) {
  ImportSummary summary;
  const auto session = Load(
      "1979932,14:21:19.998533,allocate,0x30a000000,256,0x2\n"
      "1979932,14:21:19.998540,allocate,0x30a000100,1024,0\n"
      "1980043,14:21:32.661875,free,0x30a000000,256,0x2\n"
      "1980043,14:21:33.000000,allocate failure,(nil),99999999999,7f00aa\n",
      "run.dev3.csv", &summary);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(summary.actions, 4u);
  EXPECT_TRUE(session->anomalies().empty());
  EXPECT_EQ(session->run().executable, "RMM log run.dev3.csv");
  ASSERT_EQ(session->allocations().size(), 2u);
  const Allocation first = session->allocations()[0];
  EXPECT_EQ(first.layer, Layer::kStreamOrdered);
  EXPECT_EQ(first.device, 3);
  EXPECT_EQ(first.address, 0x30a000000u);
  EXPECT_EQ(first.bytes, 256u);
  EXPECT_EQ(first.stream, 2u);
  EXPECT_EQ(first.birth_time, 51'679'998'533'000u);
  EXPECT_EQ(first.death_time, 51'692'661'875'000u);
  EXPECT_TRUE(session->allocations()[1].alive());
  ASSERT_EQ(session->threads().size(), 2u);
  EXPECT_EQ(session->threads()[1].tid, 1'980'043u);
  const EventTable& events = session->events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events.op(3), Op::kAllocFailed);
  EXPECT_EQ(events.bytes(3), 99'999'999'999u);
  EXPECT_EQ(events.stream(3), 0x7f00aau);
  EXPECT_EQ(events.result(3), 2u);
  const Report report = BuildReport(*session);
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].peak_bytes, 1280u);
  EXPECT_EQ(report.devices[0].live_bytes, 1024u);
}

TEST(RmmTest, OtherSpellings) {
  // Seconds since 1970, another name for free, Windows line ends, no header, handles as threads.
  ImportSummary summary;
  const auto session = ImportAndLoad(
      "140573312345856,1634567890.5,allocate,0x7f8a40000000,1024,0x7f8a38001020\r\n"
      "\r\n"
      "140573312345856,1634567891.123456789,deallocate,7F8A40000000,1024,0\r\n",
      &summary, "x");
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->allocations().size(), 1u);
  const Allocation only = session->allocations()[0];
  EXPECT_EQ(only.device, 0);
  EXPECT_EQ(only.birth_time, 1'634'567'890'500'000'000u);
  EXPECT_EQ(only.death_time, 1'634'567'891'123'456'789u);
  EXPECT_EQ(session->run().start_unix_ns, only.birth_time);
  EXPECT_EQ(session->run().start_time, only.birth_time);
  EXPECT_EQ(session->threads()[0].name, "thread 140573312345856");
  const auto colons = Load("1,00:00:01:000002,allocate,0x1,1,0\n");
  ASSERT_NE(colons, nullptr);
  EXPECT_EQ(colons->events().time(0), 1'000'002'000u);
  EXPECT_EQ(colons->run().start_unix_ns, 0u);  // the file has no date
}

TEST(RmmTest, MidnightAndClocksThatStepBack) {
  const auto session = Load(
      "1,23:59:59.999999,allocate,0x10,1,0\n"
      "2,23:59:59.999998,allocate,0x20,1,0\n"
      "1,00:00:00.000001,free,0x10,1,0\n"
      "1,23:59:59.000000,free,0x20,1,0\n");
  ASSERT_NE(session, nullptr);
  const EventTable& events = session->events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events.time(1), events.time(0));  // not before the previous event
  EXPECT_EQ(events.time(2) - events.time(0), 2000u);
  EXPECT_EQ(events.time(3) - events.time(2), 86'398'999'999'000u);
  ASSERT_EQ(session->anomalies().size(), 1u);
  EXPECT_EQ(session->anomalies()[0].anomaly, log::Anomaly::kClockSteps);
}

TEST(RmmTest, ARowThatWasNotFinishedIsLeftOut) {
  const auto session = Load("1,00:00:01.0,allocate,0x1,1,0\n1,00:00:02.0,alloc");
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 1u);
  ASSERT_EQ(session->anomalies().size(), 1u);
  EXPECT_EQ(session->anomalies()[0].anomaly, log::Anomaly::kTailCut);
  const auto empty = Load("");
  ASSERT_NE(empty, nullptr);
  EXPECT_TRUE(empty->events().empty());
}

TEST(RmmTest, BadRowsAreNamed) {
  const std::pair<std::string, std::string> cases[] = {
      {"1,00:00:01.0,allocate,0x1,1", "six fields are expected"},
      {"1,00:00:01.0,allocate,0x1,1,0,9", "six fields are expected"},
      {"1,00:00:01.0,grab,0x1,1,0", "the action is none of"},
      {"1,25:00:01.0,allocate,0x1,1,0", "the time is neither"},
      {"1,00:61:01.0,allocate,0x1,1,0", "the time is neither"},
      {"1,00:00:01,allocate,0x1,1,0", "the time is neither"},
      {"1,00:00:01.0000000001,allocate,0x1,1,0", "the time is neither"},
      {"1,-5,allocate,0x1,1,0", "the time is neither"},
      {"1,99999999999999.0,allocate,0x1,1,0", "the time is neither"},
      {"1,00:00:01.0,allocate,(nil),1,0", "the pointer is no hexadecimal"},
      {"1,00:00:01.0,allocate,0x1ffffffffffffffff,1,0", "the pointer is no hexadecimal"},
      {"1,00:00:01.0,allocate,0x1,-1,0", "the size is no number"},
      {"1,00:00:01.0,allocate,0x1,99999999999999999999,0", "the size is no number"},
      {"1,00:00:01.0,allocate,0x1,1,default", "the stream is no hexadecimal"}};
  for (const auto& [row, problem] : cases) {
    const std::string good = "1,00:00:01.0,allocate,0x1,1,0\n";
    const std::string message(ImportStatus(kHeader + good + row + "\n" + good).message());
    EXPECT_THAT(message, HasSubstr("line 3: ")) << row;
    EXPECT_THAT(message, HasSubstr(problem)) << row;
  }
}

TEST(RmmTest, TheDeviceIsInTheName) {
  const std::pair<std::string, int> names[] = {
      {"log.dev0", 0}, {"log.dev7", 7},  {"log.dev12.csv", 12},     {"log.devx.csv", 0},
      {"log.csv", 0},  {"log.dev-3", 0}, {"log.dev99999999999", 0}, {"log.dev5000", 0}};
  for (const auto& [name, device] : names) {
    const auto session = Load("1,00:00:01.0,allocate,0x1,1,0\n", name);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->allocations()[0].device, device) << name;
  }
}

}  // namespace
}  // namespace memprof::analysis
