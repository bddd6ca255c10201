// Random but valid logs: a simple allocator divides segments into blocks and tensors, beside raw
// driver allocations, a pool and pinned memory, on several devices, over steps. The same seed gives
// the same log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::analysis::testing {

struct RandomLogOptions {
  std::uint32_t seed = 1;
  int devices = 2;
  int operations = 400;
  int steps = 10;  // marks spread over the operations
  std::uint64_t segment_bytes = 64 << 10;
  std::uint64_t grain = 512;
  std::uint64_t first_address = 0x700000000000;
  // added to every line of the program, as if the source had been edited above it
  int line_shift = 0;
};

class RandomLog {
 public:
  explicit RandomLog(const RandomLogOptions& options);

  LogBuilder& builder() { return log_; }
  // Blocks that are live now, for a test to free.
  std::vector<std::pair<int, std::uint64_t>> live_blocks() const;

 private:
  struct Segment {
    std::uint64_t address = 0;
    std::map<std::uint64_t, std::uint64_t> blocks;  // address, bytes
  };
  struct Device {
    std::vector<Segment> segments;
    std::vector<std::pair<Layer, std::uint64_t>> raw;
    std::set<std::uint64_t> tensors;
  };

  std::uint64_t Random(std::uint64_t below) { return random_() % below; }
  EventFields Fields(int device);
  void Operate(int device);
  void NewBlock(int device);
  void FreeBlock(int device);
  void NewRaw(int device);
  void FreeRaw(int device);
  void FreeEmptySegment(int device);
  void ToggleTensor(int device);

  RandomLogOptions options_;
  std::mt19937_64 random_;
  LogBuilder log_;
  std::vector<int> stacks_, tensors_;
  std::vector<Device> devices_;
  std::uint64_t next_address_;
};

}  // namespace memprof::analysis::testing
