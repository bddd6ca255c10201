// Rows of tensors, blocks and driver allocations against a search through the text of every cell.
#include "analysis/filter/tensor_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::EventFields;
using testing::LoadLog;
using testing::LogBuilder;

std::shared_ptr<const Session> Small() {
  LogBuilder log;
  log.Device(0, 1 << 30);
  const int a = log.Stack({"main (a.cc:1)", "Zeta (z.cc:9)"});
  const int b = log.Stack({"main (a.cc:1)", "Alpha (b.cc:3)"});
  log.Alloc(Layer::kLinear, 0x1000, 0x4000, {.stack = a});
  log.Alloc(Layer::kSegment, 0x1000, 0x4000, {.stack = a});
  log.Step(0);
  EventFields block{.stack = b};
  block.aux0 = 900;
  log.Alloc(Layer::kBlock, 0x1000, 1024, block);
  log.TensorCreate(0x1000, 600, log.Tensor("w", "bf16", {10, 30}), {.stack = b});
  log.Step(1);
  log.Free(Layer::kTensor, 0x1000);
  log.Free(Layer::kBlock, 0x1000);
  log.Alloc(Layer::kPinned, 0x9000, 64, {.device = -1});
  return LoadLog(log);
}

TEST(TensorTable, ReadsCells) {
  const auto session = Small();
  const TensorTable table(session);
  EXPECT_EQ(table.Usual(), RowKind::kTensors);
  EXPECT_EQ(table.count(RowKind::kTensors), 1u);
  EXPECT_EQ(table.bytes(RowKind::kBlocks), 1024u);
  EXPECT_EQ(table.count(RowKind::kDriver), 2u) << "segments are a use of driver memory";
  const auto rows = [&](RowKind kind) {
    RowsQuery query;
    query.kind = kind;
    return FindRows(table, nullptr, nullptr, nullptr, query);
  };
  const AllocationId tensor(rows(RowKind::kTensors).rows.at(0));
  const AllocationId block(rows(RowKind::kBlocks).rows.at(0));
  EXPECT_EQ(rows(RowKind::kTensors).bytes, 600u);
  EXPECT_EQ(rows(RowKind::kDriver).largest, 0x4000u);
  EXPECT_EQ(table.TensorOf(block), table.TensorOf(tensor)) << "the tensor that was in it";
  EXPECT_EQ(ShapeText(*session->tensor(table.TensorOf(block))), "10x30");
  EXPECT_EQ(table.RequestedOf(tensor), 900u) << "of the block that contains it";
  EXPECT_EQ(table.RequestedOf(block), 900u);
  EXPECT_EQ(table.Number(TensorField::kBornStep, tensor), 0u);
  EXPECT_EQ(table.Number(TensorField::kFreedStep, tensor), 1u);
  const AllocationId pinned(rows(RowKind::kDriver).rows.at(1));
  EXPECT_EQ(table.Number(TensorField::kFreed, pinned), std::nullopt);
  EXPECT_EQ(table.Number(TensorField::kDevice, pinned), std::nullopt);
  EXPECT_EQ(table.Number(TensorField::kName, pinned), std::nullopt) << "not a number";
  EXPECT_FALSE(table.TensorOf(pinned).valid());
}

TEST(TensorTable, SitesAreNamedOnceAndSorted) {
  const auto session = Small();
  Symbols symbols(session);
  const SiteNames sites =
      NameSites(*session, symbols, [](const SourceFrame& frame) { return frame.function; });
  EXPECT_TRUE(std::is_sorted(sites.names.begin(), sites.names.end()));
  EXPECT_EQ(std::set<std::string>(sites.names.begin(), sites.names.end()).size(),
            sites.names.size());
  for (const AllocationRecord& record : session->records()) {
    const std::string expected =
        record.stack.valid() ? symbols.Site(record.stack).function : std::string();
    EXPECT_EQ(sites.Of(record.stack), expected);
  }
  EXPECT_EQ(sites.Of(StackId()), "");
}

TEST(TensorTable, WhatIsNotKnownMatchesNothing) {
  const auto session = Small();
  const TensorTable table(session);
  for (const char* const text : {"category:unknown", "site:alpha"}) {
    RowsQuery query;
    query.kind = RowKind::kBlocks;
    query.query = *ParseTensorQuery(text);
    EXPECT_TRUE(FindRows(table, nullptr, nullptr, nullptr, query).rows.empty()) << text;
    query.query.conditions[0].negated = true;
    EXPECT_EQ(FindRows(table, nullptr, nullptr, nullptr, query).rows.size(), 1u) << text;
  }
}

TEST(TensorTable, TheUsualRowsAreThoseThatThereAre) {
  LogBuilder none;
  EXPECT_EQ(TensorTable(LoadLog(none)).Usual(), RowKind::kDriver);
  LogBuilder blocks;
  blocks.Alloc(Layer::kSegment, 0x1000, 4096);
  blocks.Alloc(Layer::kBlock, 0x1000, 512);
  EXPECT_EQ(TensorTable(LoadLog(blocks)).Usual(), RowKind::kBlocks);
}

TEST(TensorTable, StopsWhenAsked) {
  const auto session = Small();
  std::stop_source stop;
  stop.request_stop();
  RowsQuery query;
  query.kind = RowKind::kDriver;
  EXPECT_TRUE(FindRows(TensorTable(session), nullptr, nullptr, nullptr, query, stop.get_token())
                  .rows.empty());
}

}  // namespace
}  // namespace memprof::analysis
