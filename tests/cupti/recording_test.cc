// The real recorder with the CUPTI source: the same programs give the same log, whichever source
// the allocations come from. Guests and harness are those of the integration tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/harness.h"
#include "tests/support/paths.h"

namespace memprof::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

struct Recording {
  GuestResult guest;
  Log log;
};

Recording Record(const std::string& guest, const std::vector<std::string>& arguments,
                 std::map<std::string, std::string> environment) {
  const TempDirectory directory;
  GuestOptions options{.arguments = arguments, .directory = directory.path()};
  environment.emplace("SIMCUDA", "memory=8GiB,devices=2");
  options.environment = std::move(environment);
  Recording recording;
  recording.guest = RunGuest(guest, options);
  EXPECT_EQ(recording.guest.status, 0) << recording.guest.err;
  recording.log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(recording.log.error, "");
  EXPECT_TRUE(recording.log.has_trailer);
  return recording;
}

const log::Source* LastState(const Log& log, const std::string& name) {
  const log::Source* last = nullptr;
  for (const log::Source& source : log.sources) {
    if (source.name() == name) last = &source;
  }
  return last;
}

void ExpectState(const Log& log, const std::string& name, log::SourceState state) {
  const log::Source* source = LastState(log, name);
  ASSERT_NE(source, nullptr) << name;
  EXPECT_EQ(log::SourceState_Name(source->state()), log::SourceState_Name(state))
      << name << ": " << source->detail();
}

// The parts of an event that must not depend on its source. Addresses and handles differ from run
// to run.
std::string Kind(const Log& log, const Event& event) {
  return log::Op_Name(event.op) + " " + LayerName(event.layer) + " device " +
         std::to_string(event.device) + " bytes " + std::to_string(event.bytes) + " result " +
         std::to_string(event.result) + " by " + log.Text(event.api) +
         (event.stack == 0 ? "" : " with stack") + (event.context == 0 ? "" : " in a context");
}

bool IsMemory(log::Op op) {
  return op == log::OP_CONTEXT_CREATE || op == log::OP_CONTEXT_DESTROY ||
         op == log::OP_DEVICE_RESET || op == log::OP_ALLOC || op == log::OP_FREE ||
         op == log::OP_ALLOC_FAILED || op == log::OP_FREE_FAILED || op == log::OP_MAP ||
         op == log::OP_UNMAP || op == log::OP_POOL_CREATE || op == log::OP_POOL_DESTROY ||
         op == log::OP_POOL_TRIM;
}

std::vector<std::string> MemoryKinds(const Log& log) {
  std::vector<std::string> kinds;
  for (const Event& event : log.events) {
    if (IsMemory(event.op)) kinds.push_back(Kind(log, event));
  }
  return kinds;
}

TEST(CuptiRecording, IsTheSameAsThatOfTheDriverHooks) {
  struct Guest {
    std::string name;
    std::vector<std::string> arguments;
  };
  for (const Guest& guest :
       {Guest{"guest_driver_dlsym", {}}, Guest{"guest_driver_linked", {}},
        Guest{"guest_driver_walk", {"1", "300", "4"}},
        Guest{"guest_runtime_life", {"threads", "20"}}, Guest{"guest_runtime_life", {"late"}},
        Guest{"guest_runtime_random12", {"1", "300", "5", "async"}},
        Guest{"guest_runtime_random13", {"1", "300", "6"}}}) {
    SCOPED_TRACE(guest.name + " " + (guest.arguments.empty() ? "" : guest.arguments[0]));
    const Recording hooks = Record(guest.name, guest.arguments, {{"MEMPROF_SOURCE", "driver"}});
    const Recording cupti = Record(guest.name, guest.arguments, {{"MEMPROF_SOURCE", "cupti"}});
    ExpectState(hooks.log, "driver", log::SOURCE_ON);
    EXPECT_EQ(LastState(hooks.log, "cupti"), nullptr);
    ExpectState(cupti.log, "driver", log::SOURCE_OFF);
    ExpectState(cupti.log, "cupti", log::SOURCE_ON);
    EXPECT_FALSE(MemoryKinds(hooks.log).empty());
    EXPECT_THAT(MemoryKinds(cupti.log), UnorderedElementsAreArray(MemoryKinds(hooks.log)));
    const Totals expected = Replay(hooks.log.ByTime());
    const Totals totals = Replay(cupti.log.ByTime());
    EXPECT_EQ(totals.allocations, expected.allocations);
    EXPECT_EQ(totals.frees, expected.frees);
    EXPECT_EQ(totals.failed, expected.failed);
    EXPECT_EQ(totals.unmatched, expected.unmatched);
    EXPECT_EQ(totals.live_bytes, expected.live_bytes);
    EXPECT_EQ(totals.live_blocks, expected.live_blocks);
    EXPECT_EQ(totals.peak_bytes, expected.peak_bytes);
  }
}

TEST(CuptiRecording, EightThreadsToTheLastByte) {
  const Recording recording =
      Record("guest_runtime_random13", {"8", "500", "7", "async"}, {{"MEMPROF_SOURCE", "cupti"}});
  EXPECT_THAT(RecordedCalls(recording.log.events),
              UnorderedElementsAreArray(PrintedCalls(recording.guest)));
  EXPECT_EQ(Replay(recording.log.ByTime()).unmatched, 0u);
}

TEST(CuptiRecording, RandomWalksThroughAllFamiliesAreRecordedToTheLastCall) {
  for (const std::string source : {"driver", "cupti", "driver,cupti"}) {
    SCOPED_TRACE(source);
    const Recording recording =
        Record("guest_driver_walk", {"4", "400", "9"}, {{"MEMPROF_SOURCE", source}});
    EXPECT_EQ(DifferenceOf(RecordedCalls(recording.log.events), PrintedCalls(recording.guest)), "");
    EXPECT_EQ(recording.log.WithOp(log::OP_FREE_FAILED).size(),
              Replay(recording.log.ByTime()).unmatched);
    // Pool memory was freed by cuMemFree, which is legal but counted.
    EXPECT_GT(recording.log.counters.at("frees_of_other_family"), 0u);
  }
}

TEST(CuptiRecording, IsReleasedWhilePausedAndTakenAgain) {
  const Recording recording = Record("guest_api_linked", {}, {{"MEMPROF_SOURCE", "cupti"}});
  std::vector<std::string> states;
  for (const log::Source& source : recording.log.sources)
    if (source.name() == "cupti") states.push_back(log::SourceState_Name(source.state()));
  EXPECT_THAT(states, ::testing::ElementsAre("SOURCE_ON", "SOURCE_OFF", "SOURCE_ON"));
  // The allocation while the source was off is not recorded, but the free after it is.
  EXPECT_THAT(RecordedCalls(recording.log.events), ::testing::SizeIs(2));
  EXPECT_EQ(recording.log.WithOp(log::OP_FREE).back().layer, log::LAYER_LINEAR);
}

TEST(CuptiRecording, BesideTheHooksNothingIsCountedTwice) {
  const Recording recording = Record("guest_runtime_random13", {"4", "300", "8", "async"},
                                     {{"MEMPROF_SOURCE", "driver,cupti"}});
  ExpectState(recording.log, "driver", log::SOURCE_ON);
  ExpectState(recording.log, "cupti", log::SOURCE_ON);
  EXPECT_THAT(RecordedCalls(recording.log.events),
              UnorderedElementsAreArray(PrintedCalls(recording.guest)));
  std::set<std::uint32_t> contexts;
  for (const Event& event : recording.log.WithOp(log::OP_CONTEXT_CREATE)) {
    EXPECT_TRUE(contexts.insert(event.context).second) << "context " << event.context;
  }
}

TEST(CuptiRecording, StacksNameTheCallersFunction) {
  const Recording recording = Record("guest_driver_dlsym", {}, {{"MEMPROF_SOURCE", "cupti"}});
  const std::vector<Event> allocations = recording.log.WithOp(log::OP_ALLOC);
  ASSERT_FALSE(allocations.empty());
  for (const Event& event : allocations) {
    EXPECT_TRUE(StackHas(recording.log, event.stack, "main"));
  }
}

// Another user in the program holds CUPTI: the log says so, and recording continues with the hooks.
TEST(CuptiRecording, GoesOnWithoutCuptiWhereAnotherHoldsIt) {
  const TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.environment = {{"MEMPROF_SOURCE", "driver,cupti"}, {"SIMCUDA", "memory=1GiB"}};
  const GuestResult guest = RunProgram(paths::kHolder, options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  ASSERT_EQ(log.error, "");
  ExpectState(log, "driver", log::SOURCE_ON);
  ExpectState(log, "cupti", log::SOURCE_REFUSED);
  EXPECT_THAT(LastState(log, "cupti")->detail(), HasSubstr("CUPTI for holder"));
  const auto refused = log.counters.find("cupti_refused");
  ASSERT_NE(refused, log.counters.end());
  EXPECT_EQ(refused->second, 1u);
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), 1u);
  EXPECT_EQ(guest.out, "4 callbacks\n") << "the holder still gets its own";
}

// A profiler in the program finalises CUPTI, and with it the source that reports the allocations.
// The log states the time span of the loss, and the source subscribes again by itself.
TEST(CuptiRecording, TakesCuptiUpAgainAfterAnotherFinalisedIt) {
  const TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.environment = {{"MEMPROF_SOURCE", "cupti"}, {"SIMCUDA", "memory=1GiB"}};
  const GuestResult guest = RunProgram(paths::kFinaliser, options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.out, "1, then more\n");
  const Log log = ReadLog(directory.File("g.mprof"));
  ASSERT_EQ(log.error, "");
  std::vector<std::string> states;
  for (const log::Source& source : log.sources)
    if (source.name() == "cupti") states.push_back(log::SourceState_Name(source.state()));
  EXPECT_THAT(states, ::testing::ElementsAre("SOURCE_ON", "SOURCE_LOST", "SOURCE_ON"));
  const auto lost = log.counters.find("cupti_lost");
  ASSERT_NE(lost, log.counters.end());
  EXPECT_EQ(lost->second, 1u);
  EXPECT_GE(log.WithOp(log::OP_ALLOC).size(), 2u);
}

TEST(CuptiRecording, SaysThatThereIsNoLibcupti) {
  const Recording recording = Record("guest_driver_dlsym", {},
                                     {{"MEMPROF_SOURCE", "driver,cupti"},
                                      {"MEMPROF_CUPTI_LIBRARY", "/nonexistent/libcupti.so.13"}});
  ExpectState(recording.log, "driver", log::SOURCE_ON);
  ExpectState(recording.log, "cupti", log::SOURCE_REFUSED);
  EXPECT_THAT(LastState(recording.log, "cupti")->detail(), HasSubstr("/nonexistent"));
  EXPECT_EQ(recording.log.WithOp(log::OP_ALLOC_FAILED).size(), 1u);
}

}  // namespace
}  // namespace memprof::testing
