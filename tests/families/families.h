// Families of memory: how a program allocates and frees them, and the events that its log must then
// have. The integration tests compare all calls with the log; gpu-check measures the memory.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "driver.h"

// One block, and how it is given back.
struct Block {
  std::uint64_t bytes;  // the exact size requested from the driver
  std::function<void()> give_back;
};

// One kind of memory, for both.
struct Family {
  const char* name;
  Block (*take)(std::uint64_t bytes);  // a block of about this size
  void (*prepare)() = nullptr;         // one-time set-up that is not measured
  void (*settle)() = nullptr;          // after all blocks have been given back
  std::string (*figures)() = nullptr;  // while blocks are held: "name": number, ...
  void (*peer)() = nullptr;            // the part of a second process, which is not recorded
};

// A longer sequence of calls, for the integration tests alone.
struct Scenario {
  const char* name;
  void (*run)();
  void (*peer)() = nullptr;  // the part of a second process, which is recorded too
};

struct Group {
  std::span<const Family> families;
  std::span<const Scenario> scenarios;
};
extern const Group kMemory, kPools, kGraphs, kVmm, kCode, kContexts, kShared;  // by source

// Null if there is none with this name.
const Family* FindFamily(std::string_view name);
const Scenario* FindScenario(std::string_view name);

// Opens the driver, and runs this with a primary context.
void Run(const std::function<void()>& calls);

// In a second process, does its part; false in others.
bool RunAsPeer(int argc, char** argv);

// The blocks of one family.
class Blocks {
 public:
  explicit Blocks(const Family& family) : family_(&family) {
    if (family.prepare != nullptr) family.prepare();
  }
  // Takes one; returns its size.
  std::uint64_t Take(std::uint64_t bytes) {
    blocks_.push_back(family_->take(bytes));
    return blocks_.back().bytes;
  }
  void GiveBack() {
    for (const Block& block : blocks_) block.give_back();
    blocks_.clear();
    if (family_->settle != nullptr) family_->settle();
  }

 private:
  const Family* family_;
  std::vector<Block> blocks_;
};
