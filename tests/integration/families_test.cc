// Programs that reach the driver by dlopen, dlsym and cuGetProcAddress alone, each with one family
// of memory. All calls that they print are in the log, in order, with function, file and line, and
// the device's ledger adds up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/dumped.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

struct Family {
  std::string guest, scenario;
  std::uint64_t pages = 0;     // of 2 MiB, in use on device 0 at the end
  std::uint64_t contexts = 1;  // contexts that exist at the end
};
std::ostream& operator<<(std::ostream& out, const Family& family) {
  return out << family.guest << " " << family.scenario;
}

class Families : public ::testing::TestWithParam<Family> {
 protected:
  static void ExpectAllCalls(const std::string& source) {
    const auto& [guest, scenario, pages, contexts] = GetParam();
    const Recording run("guest_family_" + guest, {scenario},
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

INSTANTIATE_TEST_SUITE_P(
    OneProcess, Families,
    ::testing::Values(Family{"memory", "arrays", 1}, Family{"memory", "mipmaps", 1},
                      Family{"memory", "managed", 2}, Family{"memory", "batches", 2},
                      Family{"memory", "host"}, Family{"memory", "ordered", 16},
                      Family{"vmm", "physical", 1}, Family{"vmm", "multicast"},
                      Family{"code", "modules"}, Family{"code", "libraries"},
                      Family{"contexts", "destroyed"}, Family{"contexts", "released", 1},
                      Family{"contexts", "reset", 1}, Family{"contexts", "checkpoint", 1},
                      Family{"graphs", "nodes", 1}, Family{"graphs", "captured"},
                      Family{"imports", "own"}, Family{"graphs", "children", 1},
                      Family{"later", "sparse", 1}, Family{"later", "green", 1}),
    [](const auto& parameter) { return parameter.param.guest + "_" + parameter.param.scenario; });

// The recording and the output of the second process of a guest.
TEST(Imports, OfAnotherProcessAreNeverTheImportersOwn) {
  const struct {
    const char* scenario;
    std::vector<std::string> unclosed;  // in the peer
  } cases[] = {{"ipc", {"ipc 2097152"}}, {"physical", {"vmm 0"}}, {"pool", {"pool 5000"}}};
  for (const auto& one : cases) {
    const Recording run("guest_family_imports", {one.scenario});
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
    const char *guest, *scenario;
    std::vector<std::string> unclosed;
  } cases[] = {{"imports", "external", {"external 6291456"}},
               {"later", "graphics", {"graphics 0"}}};
  for (const auto& one : cases) {
    const Recording run(std::string("guest_family_") + one.guest, {one.scenario});
    EXPECT_THAT(DumpedCalls(run.log()), ElementsAreArray(run.expected()));
    EXPECT_EQ(LedgerGap(run.log(), 0, run.guest().out, 1, 0), "");
    EXPECT_THAT(UnclosedImports(run.log()), ElementsAreArray(one.unclosed));
  }
}

}  // namespace
}  // namespace memprof::testing
