// export --to=perfetto: a trace that matches Perfetto's format definition, whose counters equal the
// timelines and whose slices nest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/timeline/timeline.h"
#include "tests/cli/cli_test_support.h"
#include "tests/cli/export/perfetto_trace.h"
#include "tests/cli/formats/trace.pb.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using analysis::testing::RandomLog;
using perfetto::TrackEvent;
using ::testing::ElementsAre;

std::string Text(const TrackEvent& event, const std::string& name) {
  for (const perfetto::DebugAnnotation& note : event.debug_annotations()) {
    if (note.name() != name) continue;
    return note.has_string_value() ? note.string_value() : std::to_string(note.uint_value());
  }
  return "(none)";
}

Trace ExportTrace(const LogBuilder& log) {
  const analysis::testing::TempDirectory directory;
  const Result result =
      Memprof({"export", "--to=perfetto", "-o", "-", directory.Write("in.mprof", log.Bytes())});
  EXPECT_EQ(result.status, 0) << result.err;
  return Trace(result.out);
}

// The value after each instant, from a series that may have several values at one instant.
std::vector<std::pair<std::uint64_t, std::uint64_t>> Samples(const analysis::Series& series) {
  std::map<std::uint64_t, std::uint64_t> last;
  for (std::size_t i = 0; i < series.times().size(); ++i)
    last[series.times()[i]] = series.values()[i];
  return {last.begin(), last.end()};
}

TEST(ExportPerfettoTest, CountersAreTheTimelines) {
  for (const std::uint32_t seed : {91u, 92u}) {
    RandomLog log({.seed = seed});
    log.builder().header().set_executable("/opt/train");
    const auto session = analysis::testing::LoadLog(log.builder());
    const Trace trace = ExportTrace(log.builder());
    std::size_t counters = 0;
    for (const analysis::DeviceTimeline& line : analysis::BuildTimelines(*session)) {
      std::string device = "train/host memory";
      if (line.device != analysis::kNoDevice) {
        device = "train/device " + std::to_string(line.device);
        for (const auto& info : session->devices()) {
          if (info.id == line.device && !info.name.empty()) device += ": " + info.name;
        }
      }
      const auto check = [&](const std::string& name, const analysis::Series& series) {
        if (series.empty()) return;
        EXPECT_EQ(trace.Counter(device + "/" + name), Samples(series)) << device << " " << name;
        ++counters;
      };
      check("driver memory", line.total);
      check("allocator: blocks", line.framework_allocated);
      check("allocator: segments", line.framework_reserved);
      check("tensors", line.tensors);
      check("linear", line.layer[static_cast<int>(Layer::kLinear)]);
      check("pinned", line.layer[static_cast<int>(Layer::kPinned)]);
    }
    EXPECT_GE(counters, 10u);
  }
}

TEST(ExportPerfettoTest, AnInstantHasOneSample) {
  LogBuilder log;
  log.header().set_executable("a.out");
  for (std::uint64_t i = 0; i < 3; ++i) {
    log.SetTime(2'000'000'000);
    log.Alloc(Layer::kLinear, 0x10000 * (i + 1), 100);
  }
  log.Free(0x10000);
  const auto samples = ExportTrace(log).Counter("a.out/device 0/driver memory");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0], std::pair(std::uint64_t{2'000'000'000}, std::uint64_t{300}));
  EXPECT_EQ(samples[1].second, 200u);
}

TEST(ExportPerfettoTest, StepsFollowOneAnother) {
  LogBuilder log;
  WriteTraining(log);
  const auto session = analysis::testing::LoadLog(log);
  const std::vector<Slice> steps = ExportTrace(log).Slices("train_gpt/steps");
  ASSERT_EQ(steps.size(), 40u);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].name, "step " + std::to_string(i));
    EXPECT_EQ(steps[i].begin, session->steps()[i].begin);
    EXPECT_EQ(steps[i].end, session->steps()[i].end);
    EXPECT_EQ(steps[i].depth, 0u);
  }
}

// Ranges of two threads; some begin or end at the same instant, or have no duration.
TEST(ExportPerfettoTest, RangesNestAsTheyWerePushed) {
  LogBuilder log;
  log.header().set_executable("a.out");
  log.Thread(1, 100, "one");
  log.Thread(2, 200, "two");
  log.SetTime(2'000'000'000);
  log.RangePush("outer", 1);
  log.SetTime(2'000'000'000);
  log.RangePush("first", 1);
  log.RangePush("other", 2);
  log.SetTime(2'000'005'000);
  log.RangePop(1);
  log.SetTime(2'000'005'000);
  log.RangePush("second", 1);
  log.RangePop(1);
  log.RangePop(1);
  log.RangePop(2);
  const Trace trace = ExportTrace(log);
  const auto named = [](const std::vector<Slice>& slices) {
    std::map<std::string, std::size_t> depth;
    for (const Slice& slice : slices) {
      depth[slice.name] = slice.depth;
      EXPECT_LE(slice.begin, slice.end);
    }
    return depth;
  };
  using Depths = std::map<std::string, std::size_t>;
  EXPECT_EQ(named(trace.Slices("a.out/thread 100")),
            (Depths{{"outer", 0}, {"first", 1}, {"second", 1}}));
  EXPECT_EQ(named(trace.Slices("a.out/thread 200")), (Depths{{"other", 0}}));
}

// Every innermost allocation from birth to death; slices of one track never overlap.
TEST(ExportPerfettoTest, AllocationsAreSlices) {
  RandomLog log({.seed = 93, .operations = 200});
  log.builder().header().set_executable("train");
  const auto session = analysis::testing::LoadLog(log.builder());
  std::multiset<std::string> expected, found;
  for (std::uint32_t i = 0; i < session->allocations().size(); ++i) {
    const analysis::Allocation a = session->allocations()[i];
    const bool memory = analysis::OccupiesDevice(a.layer) || analysis::OccupiesHost(a.layer) ||
                        a.layer == Layer::kBlock || a.layer == Layer::kTensor;
    bool has_children = false;
    for (const auto& other : session->records()) has_children |= other.parent.value == i;
    if (!memory || has_children) continue;
    const std::uint64_t end = a.alive() ? session->run().end_time : a.death_time;
    expected.insert(std::to_string(i) + " " + std::to_string(a.birth_time) + " " +
                    std::to_string(end) + " " + std::to_string(a.bytes));
  }
  const Trace trace = ExportTrace(log.builder());
  std::set<std::string> paths;
  for (const auto& packet : trace.raw().packet()) {
    if (packet.track_descriptor().name() == "allocations")
      paths.insert(trace.Path(packet.track_descriptor().uuid()));
  }
  for (const std::string& path : paths) {
    for (const Slice& slice : trace.Slices(path)) {
      EXPECT_EQ(slice.depth, 0u);
      found.insert(Text(*slice.event, "allocation") + " " + std::to_string(slice.begin) + " " +
                   std::to_string(slice.end) + " " + Text(*slice.event, "bytes"));
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(ExportPerfettoTest, OnlyTheLargestWhereThereAreMany) {
  LogBuilder log;
  log.header().set_executable("a.out");
  for (std::uint64_t i = 0; i < 3000; ++i) {
    log.Alloc(Layer::kLinear, 0x100000 * (i + 1), 1000 + (i * 7919) % 3000);
    log.Free(0x100000 * (i + 1));
  }
  const Trace trace = ExportTrace(log);
  const std::vector<Slice> slices = trace.Slices("a.out/device 0/largest allocations");
  ASSERT_EQ(slices.size(), 2000u);
  for (const Slice& slice : slices) EXPECT_GE(std::stoull(Text(*slice.event, "bytes")), 2000u);
}

TEST(ExportPerfettoTest, FailuresPeaksAndSnapshotsAreMarks) {
  LogBuilder training, raw;
  WriteTraining(training);
  WriteRaw(raw);
  const Trace trace = ExportTrace(training);
  const auto marks = trace.Instants("train_gpt/marks");
  ASSERT_TRUE(marks.contains("failed: 512 MiB"));
  const TrackEvent& failure = marks.at("failed: 512 MiB")->track_event();
  EXPECT_EQ(Text(failure, "bytes"), std::to_string(512 << 20));
  EXPECT_EQ(Text(failure, "site"), "Model::Forward (model.cc:40)");
  EXPECT_EQ(Text(failure, "result"), "2");
  EXPECT_THAT(failure.categories(), ElementsAre("failure"));
  EXPECT_TRUE(marks.contains("peak of device 0: 64.0 MiB"));
  EXPECT_TRUE(ExportTrace(raw).Instants("raw/marks").contains("snapshot half way"));
}

TEST(ExportPerfettoTest, TheProcessIsNamed) {
  LogBuilder log;
  WriteTraining(log);
  const Trace trace = ExportTrace(log);
  const auto& packet = trace.raw().packet(0);
  EXPECT_EQ(packet.track_descriptor().process().pid(), 4711);
  EXPECT_EQ(packet.track_descriptor().process().process_name(), "train_gpt");
  EXPECT_THAT(packet.track_descriptor().process().cmdline(),
              ElementsAre("train_gpt", "--steps=40"));
}

// Ranks of a job: each process has its threads, and shared tracks are beside them.
TEST(ExportPerfettoTest, SeveralLogsAreSeveralProcesses) {
  const analysis::testing::TempDirectory directory;
  std::vector<std::string> arguments = {"export", "--to=perfetto", "-o", "-"};
  for (const std::string name : {"one", "two"}) {
    LogBuilder log;
    log.header().set_executable("/opt/" + name);
    log.header().set_pid(name == "one" ? 11 : 22);
    log.Thread(1, name == "one" ? 11 : 22, name);
    log.RangePush(name);
    log.Alloc(Layer::kLinear, 0x1000, 64);
    log.RangePop();
    arguments.push_back(directory.Write(name + ".mprof", log.Bytes()));
  }
  const Result result = Memprof(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  const Trace trace(result.out);
  ASSERT_EQ(trace.Slices("one/thread 11").size(), 1u);
  EXPECT_EQ(trace.Slices("two/thread 22").at(0).name, "two");
  EXPECT_EQ(trace.Counter("device 0/driver memory").back().second, 128u);
}

TEST(ExportPerfettoTest, AnEmptyLogIsATrace) {
  LogBuilder log;
  EXPECT_GE(ExportTrace(log).raw().packet_size(), 1);
}

}  // namespace
}  // namespace memprof::cli::testing
