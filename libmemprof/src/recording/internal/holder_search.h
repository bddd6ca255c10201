// Finds which variable, stack or other memory holds the pointers to device memory.
//
// The pass of the scan writes down the words that point to device memory. Words in blocks of malloc
// are followed backwards: another pass over memory finds the words that point to these blocks, and
// so on, until there is a root: a variable of a module, thread-local memory, a stack, other memory.
// holder_graph.h chooses one of several ways.
//
// A word that is a multiple of 4 GiB may be a zero of 32 bits beside half of an old pointer, as in
// the padding of structures. In memory that is used again, blocks of malloc and stacks, it counts
// only where two other allocations are held alike.
//
// Left out are words in free blocks and dead stacks, the C library's and the recorder's memory, and
// what leads to the driver's variables only: that is nobody's variable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/recording/internal/holder_graph.h"
#include "libmemprof/src/recording/internal/memory_map.h"
#include "libmemprof/src/recording/internal/own_array.h"
#include "libmemprof/src/recording/internal/pointer_scan.h"

namespace memprof::recorder {

class HolderSearch {
 public:
  static constexpr std::size_t kMostTargets = 20'000;
  static constexpr int kMostLevels = 6;
  static constexpr int kMostHolders = 4;  // of a target
  static constexpr char kNoMemory[] =
      "no holders were looked for: the recorder's memory did not suffice";

  // Sets `unfollowed` of the targets beyond the largest kMostTargets. They must live as long.
  // Ends at `deadline_ns` (NowNs).
  HolderSearch(ScanTarget* targets, std::size_t count, std::uint64_t deadline_ns);
  HolderSearch(const HolderSearch&) = delete;
  HolderSearch& operator=(const HolderSearch&) = delete;

  // For the pass over the targets; null without memory for it.
  PassNotes* notes();
  // After it. Those with `unfollowed` set meanwhile have no holders.
  void Follow(std::uint64_t frame);

  // One holder, in the form of OP_HELD.
  struct Holder {
    std::uint32_t target;
    const char* label;
    std::size_t label_bytes;
    std::uint64_t symbol;  // aux1
  };
  // Calls `tell(const Holder&)` for each, those of a target together.
  template <typename Tell>
  void ForEach(Tell tell) {
    for (std::size_t begin = 0, end = 0; begin < held_.size(); begin = end) {
      for (end = begin; end < held_.size() && held_[end].target == held_[begin].target;) ++end;
      std::uint64_t told[kMostHolders];
      int count = 0;
      for (std::size_t i = begin; i < end && count < kMostHolders; ++i) {
        Holder holder{held_[i].target, text_.get(), 0, 0};
        if (!Describe(held_[i], held_[begin], &holder)) break;
        // One way through several places of a variable, as a collection has them, is one holder.
        const bool direct = held_[i].node == HolderGraph::kNone;
        const std::uint64_t hash =
            Mix(HashBytes(holder.label, holder.label_bytes), direct ? holder.symbol : 0);
        bool again = false;
        for (int before = 0; before < count; ++before) again |= told[before] == hash;
        if (again) continue;
        told[count++] = hash;
        tell(holder);
      }
    }
  }
  // What could not be done, for people; null if all was.
  const char* shortfall() const { return shortfall_; }

 private:
  struct Root {
    Spot::Kind kind;
    std::uint32_t number;
    const ModuleData::Module* module;
    std::uint64_t offset;
  };
  // A word that points to a target: in the block `node`, or else itself a root.
  struct Held {
    std::uint32_t target, node, root;
    std::uint32_t offset;  // in the block
    std::uint16_t length;
    std::uint8_t of_class;
    bool may_be_half;
  };
  bool Classify(const std::uint32_t* nodes);
  bool FindNext(std::size_t first);
  bool AllSettled();
  void SortHeld();
  void DropHalves();
  bool Describe(const Held& held, const Held& best, Holder* holder);
  void WriteRoot(const Root& root);
  void Write(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void WriteBytes(std::uint64_t bytes);
  void WriteBlock(std::uint64_t bytes);

  ScanTarget* targets_;
  const std::uint64_t deadline_ns_;
  const char* shortfall_ = nullptr;
  OwnArray<PointerWord> words_;
  OwnArray<MappedChunk> chunks_;
  OwnArray<char> text_;
  std::size_t text_bytes_ = 0;
  PassNotes notes_{};
  MemoryMap map_;
  HolderGraph graph_;
  MappedArray<Root> roots_;
  MappedArray<Held> held_;
  MappedArray<std::uint64_t> ways_;
};

}  // namespace memprof::recorder
