// How much a log lost: counted by the recorder, and in damaged chunks.
#include "analysis/store/losses.h"

#include <gtest/gtest.h>

#include "analysis/load/load.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;

// 400 events in chunks of 10, of which some were dropped.
std::string Bytes(std::uint64_t dropped) {
  LogBuilder log;
  for (std::uint64_t i = 0; i < 400; ++i) log.Alloc(Layer::kLinear, 0x1000 * (i + 1), 512);
  if (dropped > 0) log.Count("events_lost", dropped);
  log.self().set_events_written(400);
  return log.Bytes({.events_per_chunk = 10});
}

Losses Of(const std::string& bytes) {
  const testing::TempDirectory directory;
  const auto session = LoadLogs({directory.Write("x.mprof", bytes)});
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? LossesOf(**session) : Losses();
}

TEST(LossesTest, WhatTheRecorderDroppedIsCounted) {
  EXPECT_EQ(Of(Bytes(0)).events, 0u);
  EXPECT_EQ(Of(Bytes(3)).events, 3u);
  EXPECT_FALSE(Of(Bytes(3)).much());
  EXPECT_EQ(Of(Bytes(1200)).all, 1600u);
  EXPECT_TRUE(Of(Bytes(1200)).much());
}

TEST(LossesTest, WhatDamagedChunksHeldIsLostToo) {
  std::string bytes = Bytes(0);
  bytes[bytes.size() / 2] ^= 1;
  const Losses losses = Of(bytes);
  EXPECT_EQ(losses.events, 10u);
  EXPECT_EQ(losses.all, 400u);
  EXPECT_TRUE(losses.much());
}

}  // namespace
}  // namespace memprof::analysis
