// A written log can be read back unchanged, is valid, and respects the limits of readers.
#include "analysis/log/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/load/load.h"
#include "analysis/load/verify.h"
#include "analysis/store/session.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::TempDirectory;

class LogWriterTest : public ::testing::Test {
 protected:
  LogWriterTest()
      : log_([this](std::string_view bytes) {
          bytes_ += bytes;
          return true;
        }) {}

  std::shared_ptr<const Session> Load() {
    const std::string path = directory_.Write("log.mprof", bytes_);
    const auto verified = VerifyLog(path);
    EXPECT_TRUE(verified.ok()) << verified.status();
    if (verified.ok()) {
      EXPECT_THAT(verified->problems, ::testing::IsEmpty());
      EXPECT_TRUE(verified->complete);
      EXPECT_TRUE(verified->has_index);
    }
    const auto session = LoadLogs({path}, {.find_steps = false});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }

  TempDirectory directory_;
  std::string bytes_;
  LogWriter log_;
};

TEST_F(LogWriterTest, AnEmptyLogIsSound) {
  EXPECT_TRUE(log_.Finish(5, "nothing happened"));
  const auto session = Load();
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->events().empty());
  EXPECT_TRUE(session->run().complete);
  EXPECT_EQ(session->run().end_reason, "nothing happened");
}

// Every column, over several chunks, with values that need all their bits.
TEST_F(LogWriterTest, EveryFieldOfManyEvents) {
  std::mt19937_64 random(7);
  const std::uint32_t threads[] = {log_.Thread(11, "a"), log_.Thread(12, "b")};
  const std::uint32_t frame = log_.PythonFrame("main", "a.py", 3);
  std::vector<LogWriter::Event> written;
  for (int i = 0; i < 10'000; ++i) {
    LogWriter::Event event;
    event.op = Op::kMemcpy;  // has no effect on lifetimes
    event.device = static_cast<int>(random() % 3) - 1;
    event.time = 1000 + static_cast<std::uint64_t>(i) * 7;
    event.address = random();
    event.bytes = random() >> (random() % 64);
    event.stream = random();
    event.aux0 = random() % 2 == 0 ? 0 : random();
    event.aux1 = random();
    event.stack = random() % 3 == 0 ? 0 : log_.Stack(0, frame);
    event.thread = threads[random() % 2];
    event.label = log_.String("label " + std::to_string(random() % 50));
    event.api = log_.String("call " + std::to_string(random() % 50));
    event.result = static_cast<std::uint32_t>(random());
    written.push_back(event);
    log_.Add(event);
  }
  EXPECT_EQ(log_.events(), 10'000u);
  ASSERT_TRUE(log_.Finish(1 << 20));
  const auto session = Load();
  ASSERT_NE(session, nullptr);
  ASSERT_EQ(session->events().size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Event event = session->events()[i];
    const LogWriter::Event& wrote = written[i];
    EXPECT_EQ(event.op, wrote.op);
    EXPECT_EQ(event.device, wrote.device);
    EXPECT_EQ(event.time, wrote.time);
    EXPECT_EQ(event.address, wrote.address);
    EXPECT_EQ(event.bytes, wrote.bytes);
    EXPECT_EQ(event.stream, wrote.stream);
    EXPECT_EQ(event.aux0, wrote.aux0);
    EXPECT_EQ(event.aux1, wrote.aux1);
    EXPECT_EQ(event.result, wrote.result);
    EXPECT_EQ(event.stack.valid(), wrote.stack != 0);
    EXPECT_EQ(session->threads()[event.thread].tid, wrote.thread == threads[0] ? 11u : 12u);
    EXPECT_EQ(session->string(StringId(event.label)).substr(0, 6), "label ");
    EXPECT_EQ(session->string(event.api).substr(0, 5), "call ");
    if (::testing::Test::HasFailure()) break;
  }
}

TEST_F(LogWriterTest, EqualDefinitionsAreWrittenOnce) {
  EXPECT_EQ(log_.String(""), 0u);
  EXPECT_EQ(log_.String("x"), log_.String("x"));
  EXPECT_NE(log_.String("x"), log_.String("y"));
  EXPECT_EQ(log_.PythonFrame("f", "x", 1), log_.PythonFrame("f", "x", 1));
  EXPECT_NE(log_.PythonFrame("f", "x", 1), log_.PythonFrame("f", "x", 2));
  EXPECT_NE(log_.PythonFrame("x", "f", 1), log_.PythonFrame("f", "x", 1));
  EXPECT_EQ(log_.Stack(0, 1), log_.Stack(0, 1));
  EXPECT_NE(log_.Stack(log_.Stack(0, 1), 1), log_.Stack(0, 1));
}

TEST_F(LogWriterTest, StacksAcrossChunksKeepTheirCallers) {
  std::uint32_t stack = 0;
  for (std::uint32_t depth = 1; depth <= 3; ++depth) {
    stack = log_.Stack(stack, log_.PythonFrame("f", "a.py", depth));
    for (int i = 0; i < 5000; ++i)  // more than a chunk
      log_.Add({.op = Op::kSync, .time = depth, .stack = stack});
  }
  ASSERT_TRUE(log_.Finish(9));
  const auto session = Load();
  ASSERT_NE(session, nullptr);
  const auto frames = session->StackFrames(session->events().stack(14'999));
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(session->frame(frames[0]).line, 3u);
  EXPECT_EQ(session->frame(frames[2]).line, 1u);
}

TEST_F(LogWriterTest, HeaderDevicesSourcesAndCounters) {
  log_.header().set_executable("thing");
  log_.header().set_start_unix_ns(77);
  log::Device device;
  device.set_ordinal(3);
  device.set_capacity_bytes(1 << 30);
  log_.Device(device);
  log_.Source("torch", log::SOURCE_LOST, "why", 4);
  log_.Count(log::Anomaly::kTraceTruncated, 2);
  log_.Count(log::Anomaly::kTraceTruncated);
  ASSERT_TRUE(log_.Finish(8));
  const auto session = Load();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->run().executable, "thing");
  EXPECT_EQ(session->run().start_unix_ns, 77u);
  EXPECT_EQ(session->run().end_time, 8u);
  ASSERT_EQ(session->devices().size(), 1u);
  EXPECT_EQ(session->devices()[0].id, 3);
  EXPECT_EQ(session->devices()[0].capacity_bytes, 1u << 30);
  ASSERT_EQ(session->sources().size(), 1u);
  EXPECT_EQ(session->sources()[0].detail, "why");
  ASSERT_EQ(session->anomalies().size(), 1u);
  EXPECT_EQ(session->anomalies()[0].anomaly, log::Anomaly::kTraceTruncated);
  EXPECT_EQ(session->anomalies()[0].count, 3u);
}

TEST_F(LogWriterTest, TextIsMadeValidAndNotTooLong) {
  const std::uint32_t bad = log_.String("a\xff\xfe");
  const std::uint32_t large = log_.String(std::string(200'000, 'x'));
  log_.Thread(1, "\xc3");
  log_.Source("s", log::SOURCE_ON, "\x80", 0);
  log_.Add({.op = Op::kSnapshot, .label = bad});
  log_.Add({.op = Op::kSnapshot, .label = large});
  ASSERT_TRUE(log_.Finish(1));
  const auto session = Load();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->snapshots()[0].label, "a\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(session->snapshots()[1].label.size(), 64u << 10);
  EXPECT_EQ(session->threads()[0].name, "\xef\xbf\xbd");
}

// To a reader, a very high compression ratio looks like a decompression bomb.
TEST_F(LogWriterTest, NothingLooksLikeABomb) {
  for (int i = 0; i < 320; ++i) log_.String(std::to_string(i) + std::string(60'000, 'x'));
  for (int i = 0; i < 200'000; ++i) log_.Add({.op = Op::kSync, .time = 5});
  ASSERT_TRUE(log_.Finish(5));
  const auto session = Load();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->events().size(), 200'000u);
}

TEST(LogWriterSinkTest, NothingIsWrittenAfterAFailure) {
  std::size_t calls = 0;
  LogWriter log([&calls](std::string_view) { return ++calls < 3; });
  for (int i = 0; i < 20'000; ++i) log.Add({.op = Op::kSync, .time = 5});
  EXPECT_FALSE(log.Finish(5));
  EXPECT_EQ(calls, 3u);
}

}  // namespace
}  // namespace memprof::analysis
