// Exported snapshots, as PyTorch's viewer reads them.
#pragma once

#include <gtest/gtest.h>

#include "analysis/pickle/pickle.h"
#include "analysis/interchange/torch_export.h"

namespace memprof::analysis::testing {

inline std::string Export(const std::shared_ptr<const Session>& session,
                          TorchExportSummary* summary = nullptr) {
  Symbols symbols(session);
  TorchExportSummary own;
  std::string bytes;
  EXPECT_TRUE(ExportTorchSnapshot(
      *session, symbols,
      [&bytes](std::string_view piece) {
        bytes += piece;
        return true;
      },
      summary == nullptr ? &own : summary));
  return bytes;
}

// Does what memory_viz does with a snapshot: starts with the final segments, undoes the trace
// action by action, and fails where a block is not in a segment.
class Viewer {
 public:
  explicit Viewer(const std::string& bytes) : bytes_(bytes), pickle_(*Pickle::Parse(bytes_)) {}

  void Replay(std::size_t device) {
    const PickleValue root = pickle_.root();
    for (const PickleValue segment : Items(root, "segments")) {
      if (Number(segment, "device") != device) continue;
      AddRange(Number(segment, "address"), Number(segment, "total_size"));
      std::uint64_t cursor = Number(segment, "address");
      for (const PickleValue block : Items(segment, "blocks")) {
        EXPECT_EQ(Number(block, "address"), cursor);  // blocks tile their segment
        const std::string_view state = pickle_.At(block, "state").Text();
        if (state != "inactive") blocks_[cursor] = state == "active_pending_free";
        EXPECT_TRUE(pickle_.At(block, "frames").is_list());
        cursor += Number(block, "size");
      }
      EXPECT_EQ(cursor, Number(segment, "address") + Number(segment, "total_size"));
    }
    const auto traces = Items(root, "device_traces");
    if (device >= traces.size()) return;
    const auto trace = pickle_.Items(traces[device]);
    Check();
    for (auto entry = trace.rbegin(); entry != trace.rend(); ++entry) {
      Back(*entry);
      Check();
      if (::testing::Test::HasFailure()) return;
    }
  }
  // The memory that existed before the trace.
  std::size_t ranges() const { return ranges_.size(); }
  std::size_t blocks() const { return blocks_.size(); }

 private:
  std::span<const PickleValue> Items(PickleValue dict, std::string_view key) const {
    return pickle_.Items(pickle_.At(dict, key));
  }
  std::uint64_t Number(PickleValue dict, std::string_view key) const {
    EXPECT_TRUE(pickle_.At(dict, key).is_integer()) << key;
    return pickle_.At(dict, key).Unsigned();
  }
  void AddRange(std::uint64_t address, std::uint64_t bytes) { ranges_[address] = bytes; }
  void RemoveRange(std::uint64_t address, std::uint64_t bytes) {
    auto range = ranges_.upper_bound(address);
    ASSERT_NE(range, ranges_.begin());
    --range;
    const auto [begin, size] = *range;
    ASSERT_LE(address + bytes, begin + size);
    ranges_.erase(range);
    if (begin < address) ranges_[begin] = address - begin;
    if (begin + size > address + bytes) ranges_[address + bytes] = begin + size - address - bytes;
  }
  void Back(PickleValue entry) {
    const std::string_view action = pickle_.At(entry, "action").Text();
    EXPECT_TRUE(pickle_.At(entry, "frames").is_list());
    const std::uint64_t time = Number(entry, "time_us");
    EXPECT_LE(time, last_time_us_);
    last_time_us_ = time;
    if (action == "oom") {
      Number(entry, "device_free");
      return;
    }
    const std::uint64_t address = Number(entry, "addr"), bytes = Number(entry, "size");
    if (action == "alloc") {
      EXPECT_EQ(blocks_.erase(address), 1u);
    } else if (action == "free_completed") {
      EXPECT_TRUE(blocks_.emplace(address, true).second);
    } else if (action == "free_requested") {
      ASSERT_TRUE(blocks_.contains(address));
      EXPECT_TRUE(blocks_[address]);
      blocks_[address] = false;
    } else if (action == "segment_alloc" || action == "segment_map") {
      RemoveRange(address, bytes);
    } else if (action == "segment_free" || action == "segment_unmap") {
      AddRange(address, bytes);
    } else {
      EXPECT_EQ(action, "snapshot");
    }
  }
  void Check() const {
    for (const auto& [address, pending] : blocks_) {
      auto range = ranges_.upper_bound(address);
      ASSERT_NE(range, ranges_.begin()) << address;
      --range;
      ASSERT_LT(address, range->first + range->second);
    }
  }

  std::string bytes_;
  Pickle pickle_;
  std::map<std::uint64_t, std::uint64_t> ranges_;
  std::map<std::uint64_t, bool> blocks_;  // address, whether a free is pending
  std::uint64_t last_time_us_ = ~0ull;
};

}  // namespace memprof::analysis::testing
