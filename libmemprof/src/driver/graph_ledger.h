// Memory nodes of graphs: which graph has which nodes, what an executable graph allocates and frees
// when it is launched, and which memory earlier launches have left allocated.
//
// By the programming guide: the address is fixed when the node is made. The memory exists from the
// node's execution in a launch until a free node, cuMemFree or cuMemFreeAsync. Destroying the graph
// or its executable frees nothing. A launch with the auto-free flag first frees what the previous
// launch has left. Nodes are processed in the order in which they were made, which is one that the
// dependencies allow.
//
// Thread-safe. The queries of every free and every launch cost one load while no graph holds
// memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {

class GraphLedger {
 public:
  struct Node {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  // requested; 0 for a free node
    std::uint32_t stack = 0;  // of the call that made the node
    std::int32_t device = -1;
    bool frees = false;
    bool is_child = false;  // a graph within the graph: `address` is its handle
  };
  // The changes of a launch, in order.
  struct Change {
    Node node;
    bool is_free = false;
    bool before = false;  // it freed memory of an earlier launch
  };

  void AddNode(std::uint64_t graph, const Node& node);
  // A graph becomes a node of another: moved, so that it ends with the other, or copied as it is
  // now.
  void AddChild(std::uint64_t graph, std::uint64_t child, bool moved);
  // `clone` gets a copy of all nodes of `graph`.
  void Clone(std::uint64_t graph, std::uint64_t clone);
  void DestroyGraph(std::uint64_t graph);
  // Also for an update of the executable: it then has the nodes of the graph.
  void Instantiate(std::uint64_t graph, std::uint64_t exec);
  void DestroyExec(std::uint64_t exec);
  bool HasMemory(std::uint64_t exec);
  // Bytes that a launch would allocate, and on which device.
  std::uint64_t RequestedBytes(std::uint64_t exec, std::int32_t* device);
  // After a successful launch: appends its Changes to `changes`.
  void Launch(std::uint64_t exec, MappedArray<Change>* changes);

  // The address is about to be freed outside of graphs; from here on another launch may get it. If
  // it is memory of a graph, returns the value to pass to Freed(); else 0.
  std::uint32_t Freeing(std::uint64_t address);
  void Freed(std::uint32_t freeing, bool succeeded);
  // All memory of graphs on the device was freed; appends it as Nodes to `ended`, if given.
  void EndDevice(std::int32_t device, MappedArray<Node>* ended);
  // Bit i is set if a graph had memory on device i.
  std::uint64_t devices() const { return devices_.load(std::memory_order_relaxed); }

 private:
  struct Taken {
    std::uint32_t freeing;
    Node node;
  };
  struct Owned {
    std::uint64_t owner;  // graph or executable
    Node node;
  };
  static constexpr int kMaxDepth = 32;  // of graphs within graphs
  static void EraseOwner(MappedArray<Owned>* all, std::uint64_t owner);
  void CopyNodes(std::uint64_t graph, std::uint64_t owner, MappedArray<Owned>* to, int depth);
  void Destroy(std::uint64_t graph, int depth);
  bool EraseLive(std::uint64_t address, Node* node);
  void CountExecNodes();
  void CountLive();

  std::atomic<std::uint32_t> exec_nodes_{0};
  std::atomic<std::uint32_t> live_count_{0};
  std::atomic<std::uint64_t> devices_{0};
  Mutex<LockRank::kGraphs> mutex_;
  MappedArray<Owned> graphs_;
  MappedArray<Owned> execs_;
  MappedArray<Node> live_;
  MappedArray<Taken> taken_;
  std::uint32_t last_freeing_ = 0;
};

}  // namespace memprof::recorder
