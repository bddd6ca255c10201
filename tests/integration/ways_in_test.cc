// Ways into a program other than LD_PRELOAD, and other triggers: the driver's injection, NVTX's
// injection, a signal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "libmemprof/src/lifecycle/signal_switch.h"
#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::map<std::string, std::uint32_t> States(const Log& log) {
  std::map<std::string, std::uint32_t> states;
  for (const auto& source : log.sources) states[source.name()] = source.state();
  return states;
}

GuestOptions Injected(const TempDirectory& directory, std::vector<std::string> arguments) {
  GuestOptions options{.preload = false, .output = "", .directory = directory.path()};
  options.arguments = std::move(arguments);
  options.environment["CUDA_INJECTION64_PATH"] = BuildPath("lib/libmemprof.so");
  options.environment["MEMPROF_OUTPUT"] = directory.File("g.mprof");
  return options;
}

TEST(CudaInjection, RecordsThroughCuptiWithoutPreload) {
  TempDirectory directory;
  const GuestResult guest = RunGuest("guest_hardship", Injected(directory, {"malloc"}));
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.err, "");
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  EXPECT_THAT(RecordedCalls(log.ByTime()), ElementsAreArray(PrintedCalls(guest)));
  EXPECT_EQ(PrintedCalls(guest).size(), 600u);
  const auto states = States(log);
  EXPECT_EQ(states.at("driver"), log::SOURCE_OFF);
  EXPECT_EQ(states.at("cupti"), log::SOURCE_ON);
  for (const Event& event : log.WithOp(log::OP_ALLOC)) ASSERT_NE(event.stack, 0u);
}

TEST(CudaInjection, BesideThePreloadTheHooksStayTheSource) {
  TempDirectory directory;
  GuestOptions options = Injected(directory, {"malloc"});
  options.preload = true;
  const GuestResult guest = RunGuest("guest_hardship", options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_THAT(RecordedCalls(log.ByTime()), ElementsAreArray(PrintedCalls(guest)));
  const auto states = States(log);
  EXPECT_EQ(states.at("driver"), log::SOURCE_ON);
  EXPECT_EQ(states.count("cupti"), 0u);
}

TEST(CudaInjection, OfAProgramThatLinksTheLibraryTheHooksStayTheSource) {
  TempDirectory directory;
  const GuestResult guest = RunGuest("guest_api_linked", Injected(directory, {"fork"}));
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(States(ReadLog(directory.File("g.mprof"))).at("driver"), log::SOURCE_ON);
}

TEST(CudaInjection, ASignalBeginsStopsAndResumes) {
  TempDirectory directory;
  GuestOptions options = Injected(directory, {"toggle", "plain"});
  options.environment["MEMPROF_START"] = "paused";
  options.environment["MEMPROF_SIGNAL"] = "USR2";
  const GuestResult guest = RunGuest("guest_hardship", options);
  ASSERT_EQ(guest.status, 0) << guest.out << guest.err;
  EXPECT_EQ(guest.err, "");
  const Log log = ReadLog(directory.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_TRUE(log.has_trailer);
  std::set<std::uint64_t> bytes;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) bytes.insert(event.bytes);
  EXPECT_THAT(bytes, ElementsAre(2000, 4000)) << guest.out;
  EXPECT_EQ(log.WithOp(log::OP_PAUSE).size(), 1u);
  EXPECT_EQ(log.WithOp(log::OP_RESUME).size(), 1u);
}

std::shared_ptr<const analysis::Session> Load(const std::string& path) {
  const auto session = analysis::LoadLogs({path}, {.find_steps = false});
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *session : nullptr;
}

TEST(Nvtx, RangesOfEveryKindAreInTheLog) {
  TempDirectory directory;
  const GuestResult guest = RunGuest("guest_nvtx_ranges", {.directory = directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.err, "");
  GuestOptions plain{.preload = false, .output = "", .directory = directory.path()};
  EXPECT_EQ(guest.out, RunGuest("guest_nvtx_ranges", plain).out) << "what NVTX returns";
  const auto session = Load(directory.File("g.mprof"));
  ASSERT_NE(session, nullptr);
  std::vector<std::string> names;
  const auto range = [&](const std::string& name) {
    for (const auto& at : session->ranges())
      if (session->string(at.name) == name) return at;
    ADD_FAILURE() << name;
    return analysis::RangeInfo{};
  };
  for (const auto& at : session->ranges()) names.emplace_back(session->string(at.name));
  EXPECT_THAT(
      names, ElementsAre("outer", "io: registered", "wide é€", "inner", "first", "io: second", ""));
  std::vector<analysis::TimeNs> allocated;
  for (std::size_t i = 0; i < session->events().size(); ++i)
    if (session->events().op(i) == analysis::Op::kAlloc)
      allocated.push_back(session->events().time(i));
  ASSERT_EQ(allocated.size(), 4u);
  const auto within = [&](const std::string& name, int allocation) {
    const auto at = range(name);
    return at.begin <= allocated[allocation - 1] && allocated[allocation - 1] <= at.end;
  };
  EXPECT_TRUE(within("outer", 2));
  EXPECT_TRUE(within("io: registered", 2));
  EXPECT_LT(range("outer").end, range("io: registered").end);
  EXPECT_TRUE(within("wide é€", 3));
  EXPECT_TRUE(within("inner", 3));
  EXPECT_EQ(range("inner").depth, 1);
  EXPECT_FALSE(within("first", 4)) << "ended by another thread";
  EXPECT_TRUE(within("io: second", 4));
  // One pop of a range that was pushed before the first CUDA call; no other anomaly.
  ASSERT_EQ(session->anomalies().size(), 1u);
  EXPECT_EQ(session->anomalies()[0].anomaly, log::Anomaly::kRangesUnbalanced);
  EXPECT_EQ(session->anomalies()[0].count, 1u);
}

#ifdef MEMPROF_NVTX_MEMORY
TEST(Nvtx, HeapsRegionsAndNamesOfMemoryAreInTheLog) {
  TempDirectory directory;
  const GuestResult guest = RunGuest("guest_nvtx_memory", {.directory = directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.err, "");
  const auto session = Load(directory.File("g.mprof"));
  ASSERT_NE(session, nullptr);
  std::vector<std::string> told;
  for (const analysis::Allocation& one : session->allocations()) {
    EXPECT_FALSE(one.alive());
    const std::string bytes = std::to_string(one.bytes);
    if (one.layer == analysis::Layer::kSegment) told.push_back("segment " + bytes);
    if (one.layer == analysis::Layer::kBlock) told.push_back("block " + bytes);
    if (one.layer == analysis::Layer::kTensor)
      told.push_back(session->tensor(one.tensor)->name + " " + bytes);
  }
  EXPECT_THAT(told, ElementsAre("weights 1000", "segment 1048576", "arena 1048576", "block 4096",
                                "block 8192", "block 512", "activations 8192", "bias 512",
                                "bias of layer 2 512", "a row 100"));
  EXPECT_TRUE(session->anomalies().empty());
}
#endif

TEST(Nvtx, ForkingWhileThreadsRegisterAndPushHangsNoChild) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"fork"};
  const GuestResult guest = RunGuest("guest_nvtx_ranges", options);
  EXPECT_EQ(guest.status, 0) << guest.err;
  EXPECT_EQ(guest.out, "hung 0\n");
}

TEST(Nvtx, AnotherToolKeepsItsInjection) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.environment["NVTX_INJECTION64_PATH"] = directory.File("other.so");
  const GuestResult guest = RunGuest("guest_nvtx_ranges", options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_THAT(ReadLog(directory.File("g.mprof")).WithOp(log::OP_RANGE_PUSH), IsEmpty());
}

TEST(Nvtx, ProgramsWithoutPreloadAreLeftAlone) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"-c", "echo ${NVTX_INJECTION64_PATH-unset}"};
  EXPECT_EQ(RunProgram("/bin/sh", options).out, BuildPath("lib/libmemprof.so") + "\n");
  options.preload = false;
  EXPECT_EQ(RunProgram("/bin/sh", options).out, "unset\n");
}

GuestResult Toggled(const TempDirectory& directory, std::vector<std::string> arguments,
                    const char* start, const char* signal = "USR2") {
  GuestOptions options{.directory = directory.path()};
  options.arguments = std::move(arguments);
  options.environment["MEMPROF_SIGNAL"] = signal;
  options.environment["MEMPROF_START"] = start;
  return RunGuest("guest_hardship", options);
}

TEST(SignalSwitch, BeginsStopsAndResumes) {
  TempDirectory directory;
  const GuestResult guest = Toggled(directory, {"toggle", "plain"}, "paused");
  ASSERT_EQ(guest.status, 0) << guest.out << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  std::vector<std::uint64_t> bytes;
  for (const Event& event : log.WithOp(log::OP_ALLOC)) bytes.push_back(event.bytes);
  EXPECT_THAT(bytes, ElementsAre(2000, 4000)) << guest.out;
  EXPECT_EQ(log.WithOp(log::OP_PAUSE).size(), 1u);
  EXPECT_EQ(log.WithOp(log::OP_RESUME).size(), 1u);
  EXPECT_EQ(guest.lines().back(), "handled 0");
}

TEST(SignalSwitch, TheProgramsOwnHandlerIsCalledToo) {
  TempDirectory directory;
  const GuestResult guest = Toggled(directory, {"toggle", "own"}, "now");
  ASSERT_EQ(guest.status, 0) << guest.out << guest.err;
  EXPECT_EQ(guest.lines().back(), "handled 3");
  std::vector<std::uint64_t> bytes;
  for (const Event& event : ReadLog(directory.File("g.mprof")).WithOp(log::OP_ALLOC))
    bytes.push_back(event.bytes);
  EXPECT_THAT(bytes, ElementsAre(1000, 3000));
}

TEST(SignalSwitch, OnlyIfAskedAndOnlySignalsThatCanBeSpared) {
  TempDirectory directory;
  EXPECT_EQ(Toggled(directory, {"toggle", "plain"}, "now", "").status, 128 + SIGUSR2)
      << "without the variable the signal is not handled";
  TempDirectory other;
  const GuestResult refused = Toggled(other, {"malloc"}, "now", "SEGV");
  EXPECT_EQ(refused.status, 0);
  EXPECT_THAT(refused.err, HasSubstr("MEMPROF_SIGNAL=SEGV is none of"));
  EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1);
}

TEST(SignalSwitch, NamesAndNumbers) {
  using recorder::SignalNumber;
  EXPECT_EQ(SignalNumber("USR1"), SIGUSR1);
  EXPECT_EQ(SignalNumber("SIGUSR2"), SIGUSR2);
  EXPECT_EQ(SignalNumber("12"), SIGUSR2);
  EXPECT_EQ(SignalNumber("40"), 40);
  for (const char* none : {"", "SIG", "KILL", "9", "11", "0", "-1", "65", "12x", "usr1"})
    EXPECT_EQ(SignalNumber(none), 0) << none;
}

}  // namespace
}  // namespace memprof::testing
