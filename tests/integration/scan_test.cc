// The scan of host memory, on a guest that prints which pointers it has lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

class ScanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "sanitizers keep copies of what was freed";
  }

  void Run(const GuestOptions& options) {
    guest_ = RunGuest("guest_scan", options);
    for (const std::string& line : guest_.lines()) {
      std::istringstream in(line);
      std::string fate;
      std::uint64_t address = 0;
      in >> fate >> std::hex >> address;
      said_[fate].insert(address);
    }
    log_ = ReadLog(options.directory + "/g.mprof");
    EXPECT_EQ(log_.error, "");
  }

  std::set<std::uint64_t> Unreachable() const {
    std::set<std::uint64_t> addresses;
    for (const Event& event : log_.WithOp(log::OP_UNREACHABLE)) addresses.insert(event.address);
    return addresses;
  }

  // A stale word may hide a few lost addresses, but no other address may be reported as lost.
  void ExpectLostFound() {
    const std::set<std::uint64_t> found = Unreachable();
    std::size_t lost = 0;
    for (const std::uint64_t address : said_["lost"]) lost += found.contains(address);
    EXPECT_GE(lost, 8u);
    for (const std::uint64_t address : found) EXPECT_FALSE(said_["kept"].contains(address));
    EXPECT_LE(found.size(), lost + said_["hidden"].size()) << "probes are reported";
  }

  TempDirectory directory_;
  GuestResult guest_;
  std::map<std::string, std::set<std::uint64_t>> said_;
  Log log_;
};

TEST_F(ScanTest, AtExitFindsWhatWasLostAndNothingElse) {
  Run({.arguments = {"exit"},
       .environment = {{"MEMPROF_SCAN", "1"}},
       .directory = directory_.path()});
  ASSERT_EQ(guest_.status, 0) << guest_.err;
  EXPECT_EQ(said_["kept"].size(), 20u);
  ExpectLostFound();
  const std::vector<Event> scans = log_.WithOp(log::OP_HOST_SCAN);
  ASSERT_EQ(scans.size(), 1u);
  EXPECT_GT(scans[0].bytes, 100'000u);
  EXPECT_GE(scans[0].aux0, 33u);
  EXPECT_GT(scans[0].aux1, 0u) << "calibrated";
  for (const Event& event : log_.WithOp(log::OP_UNREACHABLE)) {
    EXPECT_EQ(event.bytes, 3u << 20);
    EXPECT_EQ(event.layer, log::LAYER_LINEAR);
    EXPECT_LT(event.aux0, scans[0].aux1);
  }
}

TEST_F(ScanTest, AProbeIsNoEventOfTheProgram) {
  Run({.arguments = {"now"}, .directory = directory_.path()});
  ASSERT_EQ(guest_.status, 0) << guest_.err;
  ExpectLostFound();
  EXPECT_EQ(log_.WithOp(log::OP_HOST_SCAN).size(), 2u);
  EXPECT_EQ(log_.WithOp(log::OP_ALLOC).size(), 33u);
  EXPECT_EQ(log_.WithOp(log::OP_FREE).size(), 0u);
}

TEST_F(ScanTest, NothingIsScannedUnasked) {
  Run({.arguments = {"exit"}, .directory = directory_.path()});
  ASSERT_EQ(guest_.status, 0) << guest_.err;
  EXPECT_EQ(log_.WithOp(log::OP_HOST_SCAN).size(), 0u);
}

TEST_F(ScanTest, WhatIsNotRecordedIsNotScanned) {
  Run({.arguments = {"exit"},
       .environment = {{"MEMPROF_SCAN", "1"}, {"MEMPROF_SOURCE", "cupti"}},
       .directory = directory_.path()});
  ASSERT_EQ(guest_.status, 0) << guest_.err;
  for (const Event& event : log_.WithOp(log::OP_UNREACHABLE))
    EXPECT_FALSE(said_["kept"].contains(event.address));
}

}  // namespace
}  // namespace memprof::testing
