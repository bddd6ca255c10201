// A simplified caching allocator with PyTorch's rules for rounding, splitting, growing, and frees
// that wait for other streams. It knows its whole state after every action, as the truth for the
// state reconstructed from its snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/interchange/import.h"
#include "analysis/store/session.h"

namespace memprof::analysis::testing {

struct ToyOptions {
  std::uint32_t seed = 1;
  int operations = 300;
  bool expandable = false;
  std::uint64_t max_split = ~0ull;
  int streams = 2;
  int device = 0;
};

struct ToyAction {
  std::string action;
  std::uint64_t address = 0, bytes = 0, stream = 0, time_us = 0;
  int place = 0;  // index of its stack
};

struct ToyBlock {
  std::uint64_t bytes = 0, requested = 0, stream = 0;
  bool pending = false;
  int place = 0;
  bool operator==(const ToyBlock&) const = default;
};

struct ToyRange {
  std::uint64_t bytes = 0, stream = 0;
  bool small = false;
};

// Keyed by address.
struct ToyState {
  std::map<std::uint64_t, ToyRange> ranges;
  std::map<std::uint64_t, ToyBlock> blocks;

  std::uint64_t reserved() const;
  std::uint64_t allocated() const;
};

class ToyAllocator {
 public:
  explicit ToyAllocator(const ToyOptions& options);

  const std::vector<ToyAction>& actions() const { return actions_; }
  // Element i is the state before action i; the last one is the final state.
  const std::vector<ToyState>& states() const { return states_; }
  // The size of the block that action i, an alloc, took.
  std::uint64_t TakenBy(std::size_t i) const;

  // The snapshot in the format of torch.cuda.memory._dump_snapshot(), with the last `ring` actions.
  std::string Snapshot(std::size_t ring) const;

 private:
  struct Hole {
    std::uint64_t address = 0, bytes = 0;
  };
  std::uint64_t Random(std::uint64_t below) { return random_() % below; }
  void Record(const std::string& action, std::uint64_t address, std::uint64_t bytes,
              std::uint64_t stream);
  void Done() { states_.push_back(state_); }
  std::vector<Hole> Holes(std::uint64_t stream, bool small) const;
  void Allocate();
  bool Place(std::uint64_t requested, std::uint64_t rounded, std::uint64_t stream, bool grown);
  void Grow(std::uint64_t rounded, std::uint64_t stream);
  void Free();
  void Complete(std::uint64_t address);
  void EmptyCache();

  ToyOptions options_;
  std::mt19937_64 random_;
  ToyState state_;
  std::vector<ToyAction> actions_;
  std::vector<ToyState> states_;
  std::uint64_t now_us_ = 1'700'000'000'000'000, next_address_ = 0x7f0000000000;
};

// Imports `bytes` into a separate log file and loads that. Null after a failed expectation.
std::shared_ptr<const Session> ImportAndLoad(std::string_view bytes,
                                             ImportSummary* summary = nullptr,
                                             const std::string& name = "test.pickle");
// The error status of an import that must fail.
absl::Status ImportStatus(std::string_view bytes, const std::string& name = "test");

// A file of tests/data.
std::string ReadData(const std::string& name);

}  // namespace memprof::analysis::testing
