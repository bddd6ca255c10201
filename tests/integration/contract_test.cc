// The guarantee of docs/promises.md, for each way in which the recorder comes into a program: what
// the program does is in the log, and its output and status are what they are without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "tests/integration/attach_program.h"
#include "tests/integration/life_guest.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

enum class Way { kRun, kPreloaded, kInjected, kAttached, kAlwaysOn };
constexpr const char* kWayNames[] = {"Run", "Preloaded", "Injected", "Attached", "AlwaysOn"};

struct Case {
  const char* name;
  const char* guest;
  std::vector<std::string> arguments;
  std::size_t allocations;
  bool prints_calls = true, ends_cleanly = true;
};
// The stand-in ends before the exit handler of guest_ending, whose allocation therefore fails.
const Case kCases[] = {
    {"Calls", "guest_hardship", {"malloc"}, 300},
    {"Threads", "guest_runtime_life", {"threads", "200"}, 200},
    {"Return", "guest_runtime_life", {"exit", "return"}, 1},
    {"QuickExit", "guest_runtime_life", {"exit", "quick_exit"}, 1},
    {"BareExit", "guest_runtime_life", {"exit", "_exit"}, 1, true, false},
    {"Abort", "guest_runtime_life", {"exit", "abort"}, 1, true, false},
    {"AllDescriptorsClosed", "guest_hardship", {"closeall"}, 301},
    {"NoNewDescriptor", "guest_hardship", {"descriptors", "3", "late"}, 301},
    {"AnotherFolder", "guest_hardship", {"chdir"}, 301},
    {"SignalsOfTheProgram", "guest_hardship", {"signals"}, 361},
    {"ForbiddenCalls", "guest_hardship", {"seccomp", "EPERM", "late"}, 301},
    {"UnloadedLibrary", "guest_hardship", {"plugin", GuestPath("libguest_plugin.so")}, 6},
#if !MEMPROF_IS_SANITIZED  // they may have a thread of their own
    {"LastThreadEndsRudely", "guest_ending", {"alone", "other"}, 1, false},
#endif
    {"MainLeavesBefore", "guest_ending", {"first", "before"}, 2, false},
    {"MainLeavesAfter", "guest_ending", {"first", "after"}, 2, false},
};

class Contract : public ::testing::TestWithParam<std::tuple<Way, Case>> {
 protected:
  GuestResult Run(Way way) {
    const Case& guest = std::get<Case>(GetParam());
    GuestOptions options{.arguments = guest.arguments, .directory = directory_.path()};
    options.longest_s = 40;
    if (way == Way::kAttached) return RunAttached(guest.guest, options);
    if (way == Way::kRun) return RunByCommand(guest.guest, options);
    options.preload = way != Way::kInjected;
    if (way == Way::kAlwaysOn) options.environment["MEMPROF_ALWAYS_ON"] = "100MB/1d";
    if (way == Way::kInjected)
      options.environment["CUDA_INJECTION64_PATH"] = BuildPath("lib/libmemprof.so");
    return RunGuest(guest.guest, options);
  }
  // Without what the command itself says.
  GuestResult RunByCommand(const std::string& name, GuestOptions options) {
    options.preload = false;
    options.output = "";
    std::vector<std::string> words = {"run", "-o", directory_.File("g.mprof"), "--",
                                      GuestPath(name)};
    options.arguments.insert(options.arguments.begin(), words.begin(), words.end());
    GuestResult result = RunProgram(BuildPath("bin/memprof"), options);
    result.err = std::regex_replace(result.err, std::regex("(^|\n)memprof: [^\n]*\n"), "$1");
    return result;
  }
  GuestResult RunAttached(const std::string& name, GuestOptions options) {
    options.preload = false;
    options.output = "";
    options.environment["LD_PRELOAD"] = GuestPath("libguest_gate.so");
    options.environment["GUEST_GATE"] = directory_.File("gate");
    RunningGuest guest(GuestPath(name), options);
    attached_ = Memprof(directory_, {"attach", "--no-python", "-o", directory_.File("g.mprof"),
                                     std::to_string(guest.pid())});
    std::ofstream(directory_.File("gate")).flush();
    return guest.Wait();
  }

  const TempDirectory directory_;
  GuestResult attached_{.status = 0};
};

TEST_P(Contract, IsKept) {
  const auto& [way, guest] = GetParam();
  if (way == Way::kAttached && MEMPROF_IS_SANITIZED)
    GTEST_SKIP() << "sanitizers want to begin all threads themselves";
  GuestOptions bare{.arguments = guest.arguments, .preload = false, .directory = directory_.path()};
  const GuestResult without = RunGuest(guest.guest, bare);
  const GuestResult result = Run(way);
  ATTACH_OR_SKIP(attached_);
  EXPECT_EQ(result.status, without.status);
  EXPECT_EQ(result.err, without.err);
  EXPECT_EQ(result.lines().size(), without.lines().size());
  Log log = ReadLog(directory_.File("g.mprof"));
  EXPECT_EQ(log.error, "");
  EXPECT_EQ(log.has_trailer, guest.ends_cleanly);
  if (guest.ends_cleanly) {
    EXPECT_EQ(log.trailer.events(), log.events.size());
    EXPECT_THAT(log.counters, IsEmpty());
  } else if (way != Way::kRun) {  // which appends the ring
    const Recovered recovered = ReadKilled(directory_.File("g.mprof"));
    ASSERT_TRUE(recovered.status.ok()) << recovered.status;
    log = recovered.log;
  }
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), guest.allocations);
  if (!guest.prints_calls) return;
  EXPECT_THAT(RecordedCalls(log.ByTime()), ElementsAreArray(PrintedCalls(result)));
}

INSTANTIATE_TEST_SUITE_P(, Contract,
                         ::testing::Combine(::testing::Values(Way::kRun, Way::kPreloaded,
                                                              Way::kInjected, Way::kAttached,
                                                              Way::kAlwaysOn),
                                            ::testing::ValuesIn(kCases)),
                         [](const auto& instance) {
                           return kWayNames[static_cast<int>(std::get<0>(instance.param))] +
                                  std::string(std::get<1>(instance.param).name);
                         });

}  // namespace
}  // namespace memprof::testing
