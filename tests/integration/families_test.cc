// A program that reaches the driver by dlopen, dlsym and cuGetProcAddress alone, with one family of
// memory in each run. All calls that it prints are in the log, in order, with function, file and
// line, and the device's ledger adds up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/integration/dumped.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

struct Family {
  std::string name;
  std::uint64_t pages = 0;     // of 2 MiB, in use on device 0 at the end
  std::uint64_t contexts = 1;  // contexts that exist at the end
};
std::ostream& operator<<(std::ostream& out, const Family& family) { return out << family.name; }

class Families : public ::testing::TestWithParam<Family> {
 protected:
  static void ExpectAllCalls(const std::string& source) {
    const auto& [name, pages, contexts] = GetParam();
    const Recording run("guest_families", {name},
                        {{"SIMCUDA", "devices=2"}, {"MEMPROF_SOURCE", source}});
    EXPECT_GT(run.expected().size(), 1u);
    // Only CUPTI reports uses of memory.
    std::vector<Call> calls = DumpedCalls(run.log());
    std::erase_if(calls, [](const Call& call) {
      return call.op == "launch" || call.op == "touch" || call.op == "memcpy" ||
             call.op == "memset" || call.op == "sync";
    });
    EXPECT_THAT(calls, ElementsAreArray(run.expected()));
    EXPECT_THAT(RecordedEnds(run.log()), UnorderedElementsAreArray(ExpectedEnds(run.guest().out)));
    EXPECT_EQ(LedgerGap(run.log(), 0, run.guest().out, contexts, pages), "");
    EXPECT_THAT(UnclosedImports(run.log()), IsEmpty());
  }
};

TEST_P(Families, AreRecordedCallByCall) { ExpectAllCalls("driver"); }

TEST_P(Families, AreTheSameWhereCuptiIsTheOnlySource) { ExpectAllCalls("cupti"); }

std::string NameOf(const ::testing::TestParamInfo<Family>& parameter) {
  std::string name = parameter.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Two blocks of each, which are given back.
INSTANTIATE_TEST_SUITE_P(
    TwoBlocks, Families,
    ::testing::Values(Family{"linear"}, Family{"pitched"}, Family{"volume"}, Family{"array"},
                      Family{"mipmap"}, Family{"managed"}, Family{"pinned"}, Family{"registered"},
                      Family{"stream-ordered"}, Family{"per-thread-stream"}, Family{"pool"},
                      Family{"graph"}, Family{"graph-captured"}, Family{"vmm"},
                      Family{"vmm-imported"}, Family{"multicast"}, Family{"module"},
                      Family{"context"}, Family{"ipc"}, Family{"external"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    OneProcess, Families,
    ::testing::Values(Family{"arrays", 1}, Family{"mipmaps", 1}, Family{"advice", 2},
                      Family{"batches", 2}, Family{"host"}, Family{"ordered", 16},
                      Family{"physical", 1}, Family{"bound"}, Family{"sparse", 1}, Family{"own"},
                      Family{"modules"}, Family{"libraries"}, Family{"destroyed"},
                      Family{"released", 1}, Family{"reset", 1}, Family{"checkpoint", 1},
                      Family{"green", 1}, Family{"nodes", 1}, Family{"captured"},
                      Family{"children", 1}),
    NameOf);

// The recording and the output of the second process of a guest.
TEST(Imports, OfAnotherProcessAreNeverTheImportersOwn) {
  const struct {
    const char* scenario;
    std::vector<std::string> unclosed;  // in the peer
  } cases[] = {
      {"ipc-recorded", {"ipc 2097152"}}, {"exports", {"vmm 0"}}, {"pool-exports", {"pool 5000"}}};
  for (const auto& one : cases) {
    const Recording run("guest_families", {one.scenario});
    EXPECT_THAT(DumpedCalls(run.log()), ElementsAreArray(run.expected())) << one.scenario;
    EXPECT_THAT(UnclosedImports(run.log()), IsEmpty());
    const std::string peer = run.directory().File("peer.mprof");
    const std::string said = ReadText(run.directory().File("peer.out"));
    const std::vector<Call> expected = ExpectedCalls(said);
    EXPECT_GT(expected.size(), 3u);
    EXPECT_THAT(DumpedCalls(peer), ElementsAreArray(expected)) << one.scenario;
    EXPECT_EQ(LedgerGap(peer, 0, said, 1, 0), "");
    EXPECT_THAT(UnclosedImports(peer), ElementsAreArray(one.unclosed));
  }
}

TEST(Imports, OfOtherInterfacesAreReportedWhenTheyStayOpen) {
  const struct {
    const char* scenario;
    std::vector<std::string> unclosed;
  } cases[] = {{"unclosed", {"external 6291456"}}, {"graphics", {"graphics 0"}}};
  for (const auto& one : cases) {
    const Recording run("guest_families", {one.scenario});
    EXPECT_THAT(DumpedCalls(run.log()), ElementsAreArray(run.expected()));
    EXPECT_EQ(LedgerGap(run.log(), 0, run.guest().out, 1, 0), "");
    EXPECT_THAT(UnclosedImports(run.log()), ElementsAreArray(one.unclosed));
  }
}

}  // namespace
}  // namespace memprof::testing
