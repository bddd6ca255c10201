// Graphs: recorded work that is run again as a whole.
#ifndef SIMCUDA_DRIVER_GRAPH_H
#define SIMCUDA_DRIVER_GRAPH_H

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Graph;
class UserObject;
class UserReferences;
struct GraphAllocation;
struct GraphExec;

struct GraphNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::function<void()> work;
  std::vector<CUgraphNode> dependencies;
  std::shared_ptr<GraphAllocation> memory;  // what a memory node allocates or frees
  std::shared_ptr<Graph> child;             // the graph within a child graph node
};

// Nodes in the order in which they were added. A node depends on earlier ones only, so that order
// is one in which they may run. Thread-safe.
class Graph {
 public:
  CUgraphNode Add(CUgraphNodeType type, std::function<void()> work,
                  std::vector<CUgraphNode> dependencies,
                  std::shared_ptr<GraphAllocation> memory = nullptr,
                  std::shared_ptr<Graph> child = nullptr);
  // False when one of the handles is not a node of this graph.
  bool Has(const CUgraphNode* nodes, size_t count) const;
  bool Remove(CUgraphNode node);
  std::vector<CUgraphNode> DependenciesOf(const GraphNode& node) const;
  std::vector<std::shared_ptr<GraphNode>> nodes() const;
  // The same nodes with the same dependencies, and with clones of child graphs; null where there
  // are memory nodes, which cannot be cloned.
  std::shared_ptr<Graph> Clone() const;
  // It belongs to a node of another graph: neither instantiated nor destroyed by itself.
  bool owned() const { return owned_.load(); }
  void set_owned() { owned_ = true; }
  // Whether there are memory nodes, in child graphs as well: such a graph can lose no node, and has
  // one executable at most.
  bool has_memory() const;
  // References to user objects live as long as the graph and its executables.
  void Own(std::shared_ptr<UserReferences> references);
  bool Disown(const UserObject* object);
  // Makes an executable; null when there is one already and must not be another.
  std::shared_ptr<GraphExec> Instantiate();

 private:
  void AppendTo(std::vector<std::shared_ptr<GraphNode>>* flat) const;

  std::atomic<bool> owned_{false};
  mutable std::mutex mutex_;
  std::weak_ptr<GraphExec> only_;
  std::vector<std::shared_ptr<UserReferences>> owned_objects_;
  std::vector<std::shared_ptr<GraphNode>> nodes_;
};

// A graph made ready to be launched: what changes in the graph later does not change it.
struct GraphExec {
  std::vector<std::shared_ptr<GraphNode>> nodes;
  unsigned long long flags = 0;
  std::vector<std::shared_ptr<UserReferences>> owned_objects;
  void Run() const {
    for (const auto& node : nodes) {
      if (node->work != nullptr) node->work();
    }
  }
};

// Takes the handles of a graph and of those within it away.
void RetireGraph(const std::shared_ptr<Graph>& graph);

// The node behind a handle and the graph that it is in; null when there is none.
std::shared_ptr<GraphNode> FindGraphNode(CUgraphNode handle, std::shared_ptr<Graph>* owner);

// What kernels, copies and fills do, checked and with arguments copied, for nodes of graphs.
struct LaunchShape {
  unsigned grid[3];
  unsigned block[3];
  size_t shared;
};
CUresult KernelWork(CUfunction function, const LaunchShape& shape, void** params, void** extra,
                    int device, std::function<void()>* work);
CUresult BoxCopyWork(const CUDA_MEMCPY3D& copy, std::function<void()>* work);
// `width` counts elements of `element_bytes` each.
CUresult FillWork(CUdeviceptr address, uint64_t pitch, unsigned value, unsigned element_bytes,
                  uint64_t width, uint64_t height, std::function<void()>* work);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_GRAPH_H
