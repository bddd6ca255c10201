// Programs that reach the driver by dlopen, dlsym and cuGetProcAddress alone, one family of memory
// each: every call that they say they made is in the log, in order, with its function, file and
// line, and the device's ledger closes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/dumped.h"

namespace memprof::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

struct Family {
  std::string guest, scenario;
  std::uint64_t pages = 0;     // of 2 MiB, in use on device 0 at the end
  std::uint64_t contexts = 1;  // that it has then
};
std::ostream& operator<<(std::ostream& out, const Family& family) {
  return out << family.guest << " " << family.scenario;
}

class Families : public ::testing::TestWithParam<Family> {};

TEST_P(Families, AreRecordedCallByCall) {
  const auto& [guest, scenario, pages, contexts] = GetParam();
  const Recording run("guest_family_" + guest, {scenario});
  EXPECT_GT(run.expected().size(), 1u);
  EXPECT_THAT(DumpedCalls(run.log()), ElementsAreArray(run.expected()));
  EXPECT_EQ(LedgerGap(run.log(), 0, run.expected(), contexts, pages), "");
  EXPECT_THAT(UnclosedImports(run.log()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    OneProcess, Families,
    ::testing::Values(Family{"memory", "arrays", 1}, Family{"memory", "mipmaps", 1},
                      Family{"memory", "managed", 2}, Family{"memory", "batches", 2},
                      Family{"memory", "host"}, Family{"memory", "ordered", 16}),
    [](const auto& parameter) { return parameter.param.guest + "_" + parameter.param.scenario; });

}  // namespace
}  // namespace memprof::testing
