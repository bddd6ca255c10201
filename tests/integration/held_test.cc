// Which variable holds device memory: a guest that keeps it in every way that C++ programs do, and
// what `memprof leaks` says of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class HeldTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers have a malloc of their own";
    guest_ = RunGuest("guest_held", {.directory = directory_.path()});
    ASSERT_EQ(guest_.status, 0) << guest_.err;
    const nlohmann::json report = nlohmann::json::parse(Leaks({"--json", "--top=0"}));
    for (const char* part : {"leaks", "live_at_exit"})
      for (const nlohmann::json& leak : report[part])
        sites_[leak["site"].get<std::string>().substr(0, leak["site"].get<std::string>().find(' '))]
            .push_back(leak);
  }

  std::string Leaks(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "leaks");
    arguments.push_back(directory_.File("g.mprof"));
    const GuestResult result = RunProgram(
        BuildPath("bin/memprof"),
        {.arguments = arguments, .preload = false, .output = "", .directory = directory_.path()});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }

  // "path: blocks" of all holders of memory that this function of the guest has allocated.
  std::vector<std::string> HoldersOf(const std::string& function) {
    std::vector<std::string> holders;
    for (const nlohmann::json& leak : sites_[function]) {
      if (!leak.contains("holders")) continue;
      for (const nlohmann::json& holder : leak["holders"]) {
        EXPECT_EQ(holder["kind"], "c++");
        holders.push_back(holder["path"].get<std::string>() + ": " +
                          std::to_string(holder["blocks"].get<int>()));
      }
    }
    return holders;
  }
  nlohmann::json HolderOf(const std::string& function) {
    return sites_[function].at(0)["holders"].at(0);
  }

  TempDirectory directory_;
  GuestResult guest_;
  std::map<std::string, std::vector<nlohmann::json>> sites_;  // by function
};

TEST_F(HeldTest, EachVariableIsNamed) {
  EXPECT_THAT(HoldersOf("InVector"),
              ElementsAre("heap block of 520 bytes, in global `g_vector` of guest_held: 50"));
  EXPECT_THAT(HoldersOf("InState"), ElementsAre("global `g_state` of guest_held + 0x40: 1"));
  EXPECT_THAT(HoldersOf("InTable"), ElementsAre("global `g_table` of guest_held: 60"))
      << "entries of an array are one";
  EXPECT_THAT(HoldersOf("InStaticMap"),
              ElementsAre("heap blocks of 56 bytes, in global `(anonymous namespace)::Registry()::"
                          "registry` of guest_held + 0x10: 1000"));
  EXPECT_THAT(HoldersOf("InList"),
              ElementsAre("heap blocks of 56 bytes, in global `app::g_list` of guest_held: 200"));
  EXPECT_THAT(HoldersOf("InLibrary"),
              ElementsAre("global `g_library_cache` of libguest_held_library.so + 0x40: 1"));
  EXPECT_THAT(HoldersOf("InThreadLocal"), ElementsAre("thread-local `t_cache` of guest_held: 1"));
  EXPECT_THAT(HoldersOf("InLargeBlock"),
              ElementsAre("heap block of 4 MiB, in heap block of 24 bytes, in global `g_handle` of "
                          "guest_held: 1"));
  EXPECT_THAT(HoldersOf("InMapping"),
              ElementsAre(MatchesRegex("anonymous mapping of [0-9.]+ MiB: 1")));
  EXPECT_THAT(HoldersOf("Worker"),
              ::testing::UnorderedElementsAre(
                  MatchesRegex("stack of thread [0-9]+: 1"),
                  MatchesRegex("heap block of 216 bytes, in stack of thread [0-9]+: 1"),
                  "thread-local `t_cache` of guest_held: 1"));
}

TEST_F(HeldTest, TheChainLeadsFromTheRootToTheMemory) {
  const nlohmann::json holder = HolderOf("InSingleton");
  EXPECT_EQ(holder["root"], "global `app::Trainer::instance` of guest_held");
  EXPECT_EQ(holder["chain"],
            nlohmann::json({"heap block of 1016 bytes", "heap block of 216 bytes"}));
  EXPECT_EQ(holder["path"],
            "heap block of 216 bytes, in heap block of 1016 bytes, in global "
            "`app::Trainer::instance` of guest_held");
}

TEST_F(HeldTest, WhatIsLeftInFreedMemoryHoldsNothing) {
  EXPECT_THAT(sites_["InFreed"], SizeIs(1));
  EXPECT_THAT(HoldersOf("InFreed"), ElementsAre());
}

TEST_F(HeldTest, ALeakHasOneLine) {
  EXPECT_THAT(Leaks({}), HasSubstr("holder heap blocks of 56 bytes, in global `app::g_list` of "));
}

TEST_F(HeldTest, MarksComeBeforeTheEndOfTheirScan) {
  const Log log = ReadLog(directory_.File("g.mprof"));
  const std::vector<Event> held = log.WithOp(log::OP_HELD), scans = log.WithOp(log::OP_HOST_SCAN);
  ASSERT_EQ(scans.size(), 1u);
  for (const Event& event : held) {
    EXPECT_EQ(event.aux0, log::HOLDER_CPP);
    EXPECT_EQ(event.layer, log::LAYER_LINEAR);
    EXPECT_LE(event.time_ns, scans[0].time_ns);
  }
}

// The search for holders must not take the memory that the verdict needs.
TEST(HeldWithLittleMemory, TheVerdictComesFirst) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers keep copies of what was freed";
  const TempDirectory directory;
  const GuestResult guest = RunGuest(
      "guest_held", {.environment = {{"MEMPROF_MEMORY_MIB", "32"}}, .directory = directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory.File("g.mprof"));
  const std::vector<Event> scans = log.WithOp(log::OP_HOST_SCAN);
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_GT(scans[0].aux1, 0u) << "calibrated and complete";
}

}  // namespace
}  // namespace memprof::testing
