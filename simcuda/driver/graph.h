// Graphs: recorded work that can be run again as a whole.
#ifndef SIMCUDA_DRIVER_GRAPH_H
#define SIMCUDA_DRIVER_GRAPH_H

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Event;
class Graph;
class UserObject;
class UserReferences;
struct GraphAllocation;
class GraphExec;

// The parameters of a kernel node. If the kernel's parameter layout is known, kernelParams points
// to copies of the arguments, which `kept` owns; else to the program's.
struct KernelParameters {
  CUDA_KERNEL_NODE_PARAMS_v1 params{};
  std::shared_ptr<const void> kept;
};
struct EventOfNode {
  CUevent handle = nullptr;
  std::shared_ptr<Event> event;
};
// The parameters of a node, as far as they can be queried and set.
using NodeParameters = std::variant<std::monostate, KernelParameters, CUDA_MEMCPY3D,
                                    CUDA_MEMSET_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, EventOfNode>;

struct GraphNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::function<void()> work;
  std::vector<CUgraphNode> dependencies;
  std::shared_ptr<GraphAllocation> memory;  // what a memory node allocates or frees
  std::shared_ptr<Graph> child;             // the graph within a child graph node
  NodeParameters parameters;
  std::map<int, std::array<char, 64>> attributes;  // of a kernel, by CUlaunchAttributeID
  CUgraphNode origin = nullptr;                    // the node that it is a copy of
  bool enabled = true;                             // in an executable
};
inline CUgraphNode HandleOf(const std::shared_ptr<GraphNode>& node) {
  return reinterpret_cast<CUgraphNode>(node.get());
}

// Nodes in an order in which they can run: a node depends only on earlier ones. That is the order
// in which they were added, unless an edge requires another. Thread-safe.
class Graph {
 public:
  CUgraphNode Add(CUgraphNodeType type, std::function<void()> work,
                  std::vector<CUgraphNode> dependencies,
                  std::shared_ptr<GraphAllocation> memory = nullptr,
                  std::shared_ptr<Graph> child = nullptr);
  CUgraphNode Add(GraphNode node);
  // False if one of the handles is not a node of this graph.
  bool Has(const CUgraphNode* nodes, size_t count) const;
  bool Remove(CUgraphNode node);
  std::vector<CUgraphNode> DependenciesOf(const GraphNode& node) const;
  // Adds or removes an edge between two nodes of this graph. False if it would close a cycle,
  // already exists, or does not exist.
  bool AddEdge(CUgraphNode from, CUgraphNode to);
  bool RemoveEdge(CUgraphNode from, CUgraphNode to);
  std::vector<std::shared_ptr<GraphNode>> nodes() const;
  // The same nodes with the same dependencies, and with clones of child graphs; null where there
  // are memory nodes, which cannot be cloned.
  std::shared_ptr<Graph> Clone() const;
  // Whether it belongs to a node of another graph: then it is neither instantiated nor destroyed by
  // itself.
  bool owned() const { return owned_.load(); }
  void set_owned() { owned_ = true; }
  // Whether there are memory nodes, also in child graphs: such a graph can lose no node, and has at
  // most one executable.
  bool has_memory() const;
  // References to user objects live as long as the graph and its executables.
  void Own(std::shared_ptr<UserReferences> references);
  bool Disown(const UserObject* object);
  // Copies of all nodes as an executable has them: see GraphExec::nodes.
  std::vector<std::shared_ptr<GraphNode>> Flattened() const;
  // Creates an executable; null if there is one already and there may be no other.
  std::shared_ptr<GraphExec> Instantiate();

 private:
  void AppendTo(std::vector<std::shared_ptr<GraphNode>>* flat) const;
  void Sort();

  std::atomic<bool> owned_{false};
  mutable std::mutex mutex_;
  std::weak_ptr<GraphExec> only_;
  std::vector<std::shared_ptr<UserReferences>> owned_objects_;
  std::vector<std::shared_ptr<GraphNode>> nodes_;
};

// A graph that is ready to be launched: later changes of the graph do not change it. Thread-safe.
class GraphExec {
 public:
  using Nodes = std::vector<std::shared_ptr<GraphNode>>;
  GraphExec(Nodes nodes, std::vector<std::shared_ptr<UserReferences>> objects)
      : nodes_(std::make_shared<const Nodes>(std::move(nodes))),
        owned_objects_(std::move(objects)) {}

  // Copies of the graph's nodes, with the nodes of a child graph in place of its node. A copy is
  // never modified: a change replaces it, which affects later launches.
  std::shared_ptr<const Nodes> nodes() const;
  // Changes the copy of a node of the graph; false if there is none.
  bool Change(CUgraphNode origin, const std::function<void(GraphNode*)>& change);
  void SetNodes(Nodes nodes);

  unsigned long long flags = 0;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Nodes> nodes_;
  const std::vector<std::shared_ptr<UserReferences>> owned_objects_;
};

// Makes the handles of a graph, and of the graphs within it, invalid.
void RetireGraph(const std::shared_ptr<Graph>& graph);

// The node of a handle, and the graph that contains it; null if there is none.
std::shared_ptr<GraphNode> FindGraphNode(CUgraphNode handle, std::shared_ptr<Graph>* owner);

// The work of kernels, copies and fills, checked and with copied arguments, for nodes of graphs.
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
// The work of a node with these parameters, which are checked, and stored as far as needed; events
// have no work.
CUresult WorkOf(NodeParameters* parameters, std::function<void()>* work);
// Adds a node that the program requested explicitly.
CUresult AddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                 CUgraphNodeType type, NodeParameters parameters);
#if CUDA_VERSION >= 12030
// Converts the parameters of functions for nodes of any kind; false for kinds without such
// parameters.
bool ParametersFrom(const CUgraphNodeParams& params, NodeParameters* parameters);
#endif
// Returns a list of nodes as the query functions do: its length; or as many nodes as fit, followed
// by null.
CUresult CopyOut(const std::vector<CUgraphNode>& all, CUgraphNode* nodes, size_t* count);
#if CUDA_VERSION >= 12000
// The parameters of a kernel node that both versions have.
CUDA_KERNEL_NODE_PARAMS_v1 FirstVersion(const CUDA_KERNEL_NODE_PARAMS& params);
#endif
// The parameters of a kernel node in the form in which a node stores them.
KernelParameters KeepArguments(const CUDA_KERNEL_NODE_PARAMS_v1& params);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_GRAPH_H
