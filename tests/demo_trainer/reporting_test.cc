// What the trainer reports to memprof. This program defines memprof's functions, which the trainer
// finds by name, and records their calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "demo_trainer/options.h"
#include "demo_trainer/train/trainer.h"
#include "libmemprof/include/memprof/memprof.h"

namespace {

struct Piece {
  size_t bytes;
  size_t requested;
};
struct NamedTensor {
  size_t bytes;
  std::string dtype;
  std::vector<int64_t> shape;
};

// All reports, and all violations of the rules.
struct Books {
  std::map<uintptr_t, Piece> segments;
  std::map<uintptr_t, Piece> blocks;
  std::map<uintptr_t, std::string> tensors;
  std::map<std::string, NamedTensor> tensors_seen;
  std::vector<uint64_t> steps;
  std::vector<std::string> ranges;  // open ones
  std::map<std::string, int> ranges_seen;
  std::vector<std::string> snapshots;
  std::vector<std::string> breaches;
  size_t allocated = 0;
  size_t peak_allocated = 0;
  size_t reserved = 0;
  size_t peak_reserved = 0;
  size_t oom_requested = 0;

  void Breach(const std::string& text) { breaches.push_back(text); }
};

Books* g_books = nullptr;

uintptr_t Address(const void* ptr) { return reinterpret_cast<uintptr_t>(ptr); }

bool Inside(const std::map<uintptr_t, Piece>& outer, uintptr_t address, size_t bytes) {
  auto after = outer.upper_bound(address);
  if (after == outer.begin()) return false;
  --after;
  return address + bytes <= after->first + after->second.bytes;
}

}  // namespace

extern "C" {

int memprof_step(uint64_t step) {
  g_books->steps.push_back(step);
  return MEMPROF_OK;
}
int memprof_snapshot(const char* label) {
  g_books->snapshots.emplace_back(label);
  return MEMPROF_OK;
}
int memprof_range_push(const char* name) {
  g_books->ranges.emplace_back(name);
  ++g_books->ranges_seen[name];
  return MEMPROF_OK;
}
int memprof_range_pop(void) {
  if (g_books->ranges.empty()) {
    g_books->Breach("a range was popped that was not pushed");
  } else {
    g_books->ranges.pop_back();
  }
  return MEMPROF_OK;
}
int memprof_tensor_create(int, const void* ptr, size_t bytes, const char* name, const char* dtype,
                          int rank, const int64_t* shape) {
  if (!Inside(g_books->blocks, Address(ptr), bytes)) {
    g_books->Breach(std::string(name) + " is in no block");
  } else if (const auto block = g_books->blocks.find(Address(ptr));
             block != g_books->blocks.end() && block->second.requested != bytes) {
    g_books->Breach(std::string(name) + " is not what was requested");
  }
  if (!g_books->tensors.emplace(Address(ptr), name).second) {
    g_books->Breach(std::string(name) + " has the address of a living tensor");
  }
  g_books->tensors_seen[name] = {bytes, dtype, std::vector<int64_t>(shape, shape + rank)};
  return MEMPROF_OK;
}
int memprof_tensor_destroy(int, const void* ptr) {
  if (g_books->tensors.erase(Address(ptr)) == 0) g_books->Breach("an unknown tensor ended");
  return MEMPROF_OK;
}
int memprof_segment_create(int, const void* ptr, size_t bytes, const void*) {
  g_books->segments[Address(ptr)] = {bytes, bytes};
  g_books->reserved += bytes;
  g_books->peak_reserved = std::max(g_books->peak_reserved, g_books->reserved);
  return MEMPROF_OK;
}
int memprof_segment_destroy(int, const void* ptr) {
  const auto found = g_books->segments.find(Address(ptr));
  if (found == g_books->segments.end()) {
    g_books->Breach("an unknown segment ended");
    return MEMPROF_OK;
  }
  g_books->reserved -= found->second.bytes;
  g_books->segments.erase(found);
  return MEMPROF_OK;
}
int memprof_block_create(int, const void* ptr, size_t bytes, size_t requested, const void*) {
  if (!Inside(g_books->segments, Address(ptr), bytes)) g_books->Breach("a block in no segment");
  if (requested > bytes) g_books->Breach("a block smaller than its request");
  g_books->blocks[Address(ptr)] = {bytes, requested};
  g_books->allocated += bytes;
  g_books->peak_allocated = std::max(g_books->peak_allocated, g_books->allocated);
  return MEMPROF_OK;
}
int memprof_block_destroy(int, const void* ptr) {
  const auto found = g_books->blocks.find(Address(ptr));
  if (found == g_books->blocks.end()) {
    g_books->Breach("an unknown block ended");
    return MEMPROF_OK;
  }
  if (g_books->tensors.contains(Address(ptr))) g_books->Breach("a block ended before its tensor");
  g_books->allocated -= found->second.bytes;
  g_books->blocks.erase(found);
  return MEMPROF_OK;
}
int memprof_framework_oom(int, size_t requested, size_t, size_t) {
  g_books->oom_requested = requested;
  return MEMPROF_OK;
}

}  // extern "C"

namespace memprof::demo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ReportingTest : public testing::Test {
 protected:
  void SetUp() override { g_books = &books_; }

  // Trains a small model; returns the line of --stats after training.
  std::string Train(std::vector<std::string> extra) {
    std::vector<std::string> arguments = {"--layers",  "2", "--dim",   "16", "--heads", "2",
                                          "--context", "8", "--batch", "4",  "--stats"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    testing::internal::CaptureStdout();
    {
      Trainer trainer(ParseOptions(arguments));
      trainer.Run();
      allocated_at_end_ = books_.allocated;
    }
    const std::string output = testing::internal::GetCapturedStdout();
    const size_t start = output.find("stats when=end");
    return output.substr(start, output.find('\n', start) - start);
  }

  Books books_;
  size_t allocated_at_end_ = 0;
};

TEST_F(ReportingTest, BooksAgreeWithTheAllocator) {
  const std::string stats = Train({"--steps", "4", "--prefetch"});
  EXPECT_THAT(books_.breaches, IsEmpty());
  EXPECT_THAT(stats, testing::HasSubstr(" allocated=" + std::to_string(allocated_at_end_) + " "));
  EXPECT_THAT(stats,
              testing::HasSubstr(" peak_allocated=" + std::to_string(books_.peak_allocated) + " "));
  EXPECT_THAT(stats,
              testing::HasSubstr(" peak_reserved=" + std::to_string(books_.peak_reserved) + " "));
  EXPECT_GT(allocated_at_end_, 0u);
}

TEST_F(ReportingTest, NothingIsLeftAtTheEnd) {
  Train({"--steps", "2", "--eval-every", "1", "--checkpointing", "--inplace"});
  EXPECT_THAT(books_.breaches, IsEmpty());
  EXPECT_THAT(books_.tensors, IsEmpty());
  EXPECT_THAT(books_.blocks, IsEmpty());
  EXPECT_THAT(books_.segments, IsEmpty());
  EXPECT_THAT(books_.ranges, IsEmpty());
}

TEST_F(ReportingTest, TensorsHaveNamesDtypesAndShapes) {
  Train({"--steps", "2", "--dtype", "bf16"});
  const auto& seen = books_.tensors_seen;
  const std::pair<const char*, NamedTensor> expected[] = {
      {"wte.weight", {256 * 16 * 4, "float32", {256, 16}}},
      {"blocks.1.attn.qkv.weight", {16 * 48 * 4, "float32", {16, 48}}},
      {"blocks.1.attn.qkv.weight.bf16", {16 * 48 * 2, "bfloat16", {16, 48}}},
      {"blocks.1.attn.qkv.weight.grad", {16 * 48 * 4, "float32", {16, 48}}},
      {"blocks.1.attn.qkv.weight.exp_avg", {16 * 48 * 4, "float32", {16, 48}}},
      {"blocks.1.attn.qkv.weight.exp_avg_sq", {16 * 48 * 4, "float32", {16, 48}}},
      {"blocks.0.attn.probs", {4 * 2 * 8 * 8 * 2, "bfloat16", {4, 2, 8, 8}}},
      {"blocks.0.mlp.act", {32 * 64 * 2, "bfloat16", {32, 64}}},
      {"batch.tokens", {32 * 4, "int32", {4, 8}}},
      {"loss", {4, "float32", {1}}},
  };
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(seen.contains(name)) << name;
    EXPECT_EQ(seen.at(name).bytes, tensor.bytes) << name;
    EXPECT_EQ(seen.at(name).dtype, tensor.dtype) << name;
    EXPECT_EQ(seen.at(name).shape, tensor.shape) << name;
  }
}

TEST_F(ReportingTest, StepsRangesAndSnapshotsAreMarked) {
  Train({"--steps", "3", "--grad-accum", "2", "--snapshot", "0,2"});
  EXPECT_THAT(books_.steps, ElementsAre(0, 1, 2));
  EXPECT_THAT(books_.snapshots, ElementsAre("step 0", "step 2"));
  EXPECT_EQ(books_.ranges_seen["forward"], 6);
  EXPECT_EQ(books_.ranges_seen["backward"], 6);
  EXPECT_EQ(books_.ranges_seen["optimizer"], 3);
}

TEST_F(ReportingTest, DirectAllocatorsReportNoFramework) {
  books_ = {};
  Train({"--steps", "1", "--allocator", "cuda"});
  EXPECT_THAT(books_.segments, IsEmpty());
  EXPECT_EQ(books_.peak_allocated, 0u);
  EXPECT_TRUE(books_.tensors_seen.contains("wte.weight"));
}

TEST_F(ReportingTest, LeaksStayInTheBooks) {
  Train({"--steps", "8", "--leak", "error-path"});
  ASSERT_EQ(books_.blocks.size(), 2u);
  EXPECT_EQ(books_.blocks.begin()->second.requested, size_t{512} << 10);
}

}  // namespace
}  // namespace memprof::demo
