// Buffers of sums over rows: their sizes as PyTorch 2.15 requested them on an H100's stand-in, and
// where traces have them.
#include "analysis/footprint/column_sums.h"

#include <gtest/gtest.h>

#include "analysis/footprint/internal/asked.h"

namespace memprof::analysis {
namespace {

using allocators::Trace;
using allocators::TraceOp;

constexpr Multiprocessors kH100 = {132, 2048};

// Rows, columns and bytes of trainings of ConvNeXt, ViT and Swin.
TEST(PartialSumBytesTest, AreThoseThatWereRecorded) {
  EXPECT_EQ(PartialSumBytes(196, 768, kH100), 0u);
  EXPECT_EQ(PartialSumBytes(784, 3072, kH100), 0u);
  EXPECT_EQ(PartialSumBytes(3136, 192, kH100), 4'816'896u);
  EXPECT_EQ(PartialSumBytes(3136, 768, kH100), 19'267'584u);
  EXPECT_EQ(PartialSumBytes(3136, 3072, kH100), 77'070'336u);
  // limited by what runs at once
  EXPECT_EQ(PartialSumBytes(12'544, 1536, kH100), 138'412'032u);
  EXPECT_EQ(PartialSumBytes(200'704, 96, kH100), 25'952'256u);
  EXPECT_EQ(PartialSumBytes(12'544, 96, kH100), 2'408'448u);
}

// The number of rows from which on there is a buffer, and devices that are not known.
TEST(PartialSumBytesTest, BeginsWithManyRows) {
  EXPECT_EQ(PartialSumBytes(1020, 768, kH100), 0u);
  EXPECT_GT(PartialSumBytes(1021, 768, kH100), 0u);
  EXPECT_EQ(PartialSumBytes(100'000, 768, {}), 0u);
  EXPECT_EQ(PartialSumBytes(0, 768, kH100), 0u);
  EXPECT_EQ(PartialSumBytes(100'000, 0, kH100), 0u);
  EXPECT_LT(PartialSumBytes(100'000, 768, {40, 1024}), PartialSumBytes(100'000, 768, kH100));
}

// The backward pass of a linear layer, from 384 to 768, with `rows`.
struct Layer384 {
  Trace trace;
  std::vector<SizeModel> sizes;
  std::vector<AskedBytes> asked;
  std::uint32_t out = 0, buffer = 0;

  Layer384(std::uint64_t rows_per_unit, std::uint64_t batch, std::uint64_t recorded_buffer,
           std::uint64_t element = 4) {
    const std::uint64_t unit = rows_per_unit * 384 * element;
    Add(unit * batch, 0, static_cast<double>(unit));
    trace.Free(Add(1 << 20, 1 << 20, 0));  // a workspace
    AddConstant(384 * 768 * element);
    out = AddConstant(768 * element);
    if (recorded_buffer == 0) return;
    buffer = AddConstant(recorded_buffer);
    const std::uint32_t counters = AddConstant(512);
    trace.Free(counters);
    trace.Free(buffer);
  }
  std::uint32_t Add(std::uint64_t bytes, double fixed, double per_unit) {
    sizes.push_back({});
    sizes.back().growth = per_unit > 0 ? Growth::kLinear : Growth::kConstant;
    sizes.back().fixed = fixed;
    sizes.back().per_unit = per_unit;
    asked.push_back({bytes - 511, bytes});
    const std::uint32_t block = trace.Allocate(bytes);
    trace.blocks[block].whole = true;
    return block;
  }
  std::uint32_t AddConstant(std::uint64_t bytes) {
    return Add(bytes, static_cast<double>(bytes), 0);
  }
  std::vector<ColumnSum> Find(std::uint64_t batch) const {
    return FindColumnSums(trace, sizes, asked, batch, kH100);
  }
};

TEST(ColumnSumsTest, GetABufferThatTheRecordingDoesNotHave) {
  Layer384 layer(49, 4, 0);
  const std::vector<ColumnSum> sums = layer.Find(4);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].columns, 768u);
  EXPECT_EQ(sums[0].rows_per_unit, 49u);
  EXPECT_FALSE(sums[0].has_buffer);
  const std::size_t before = layer.trace.blocks.size();
  Trace small = layer.trace;
  SetColumnSums(sums, 8, kH100, &small);
  EXPECT_EQ(small.blocks.size(), before);
  Trace large = layer.trace;
  SetColumnSums(sums, 64, kH100, &large);
  ASSERT_EQ(large.blocks.size(), before + 2);
  EXPECT_EQ(large.blocks[before].bytes, 19'267'584u);
  ASSERT_EQ(large.events.size(), layer.trace.events.size() + 4);
  EXPECT_EQ(large.events.back(),
            (allocators::TraceEvent{TraceOp::kFree, static_cast<std::uint32_t>(before + 1)}));
}

TEST(ColumnSumsTest, ARecordedBufferGetsItsSize) {
  Layer384 layer(49, 64, 19'267'584);
  const std::vector<ColumnSum> sums = layer.Find(64);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_TRUE(sums[0].has_buffer);
  SetColumnSums(sums, 2, kH100, &layer.trace);
  EXPECT_EQ(layer.trace.blocks[layer.buffer].bytes, 1u);
  SetColumnSums(sums, 128, kH100, &layer.trace);
  EXPECT_EQ(layer.trace.blocks[layer.buffer].bytes, PartialSumBytes(128 * 49, 768, kH100));
}

// Mixed precision: the gradients have half the size, and are copied.
TEST(ColumnSumsTest, NumbersMayHave16Bits) {
  Layer384 layer(48, 4, 0, 2);
  std::vector<ColumnSum> sums = layer.Find(4);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].columns, 384u);  // read as 32 bits
  layer.AddConstant(384 * 768 * 4);
  sums = layer.Find(4);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].columns, 768u);
  EXPECT_EQ(sums[0].rows_per_unit, 48u);
  // Without a copy, the recorded buffer tells it.
  sums = Layer384(49, 64, 19'267'584, 2).Find(64);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0].columns, 768u);
}

// Something else that looks like it.
TEST(ColumnSumsTest, OnlyWhereTheRecordingIsAsItShouldBe) {
  EXPECT_TRUE(Layer384(49, 64, 0).Find(64).empty());
  EXPECT_TRUE(Layer384(49, 64, 10'000'384).Find(64).empty());
  EXPECT_TRUE(Layer384(49, 4, 19'267'584).Find(4).empty());
  Layer384 other(49, 4, 0);
  other.sizes[2].fixed = 1000;  // not a weight of these dimensions
  EXPECT_TRUE(other.Find(4).empty());
  other = Layer384(49, 4, 0);
  other.trace.blocks[other.out].whole = false;  // another allocator than PyTorch's
  EXPECT_TRUE(other.Find(4).empty());
  other = Layer384(49, 4, 0);
  other.sizes[0].per_unit = 0;
  other.sizes[0].growth = Growth::kConstant;
  EXPECT_TRUE(other.Find(4).empty());
}

}  // namespace
}  // namespace memprof::analysis
