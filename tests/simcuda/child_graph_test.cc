// Graphs within graphs, clones, and nodes added by the general function.
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

class ChildGraphTest : public DriverTest {
 protected:
  struct Mark {
    std::vector<int>* order;
    int number;
  };
  void SetUp() override {
    DriverTest::SetUp();
    marks_.reserve(16);
  }
  CUgraph NewGraph() {
    CUgraph graph = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphCreate(&graph, 0));
    return graph;
  }
  // A node that appends its number to the order of execution.
  CUgraphNode Note(CUgraph graph, int number, std::vector<CUgraphNode> after = {}) {
    marks_.push_back({&order_, number});
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_HOST;
    params.host.userData = &marks_.back();
    params.host.fn = [](void* data) {
      const auto* mark = static_cast<Mark*>(data);
      mark->order->push_back(mark->number);
    };
    CUgraphNode node = nullptr;
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &params));
    return node;
  }
  std::vector<int> Run(CUgraph graph) {
    order_.clear();
    CUgraphExec exec = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphInstantiate(&exec, graph, 0));
    EXPECT_EQ(CUDA_SUCCESS, cuGraphLaunch(exec, nullptr));
    EXPECT_EQ(CUDA_SUCCESS, cuCtxSynchronize());
    EXPECT_EQ(CUDA_SUCCESS, cuGraphExecDestroy(exec));
    return order_;
  }
  std::vector<int> order_;
  std::vector<Mark> marks_;
};

TEST_F(ChildGraphTest, AChildRunsInItsPlaceAsItWas) {
  CUgraph child = NewGraph(), parent = NewGraph();
  Note(child, 2);
  CUgraphNode first = Note(parent, 1), within = nullptr;
  CHECK_CU(cuGraphAddChildGraphNode(&within, parent, &first, 1, child));
  Note(child, 99);  // no effect on the parent: the child node has a copy of the graph
  Note(parent, 3, {within});
  EXPECT_EQ(Run(parent), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(Run(child), (std::vector<int>{2, 99}));
  CUgraph copy = nullptr;
  CHECK_CU(cuGraphChildGraphNodeGetGraph(within, &copy));
  EXPECT_NE(copy, child);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphChildGraphNodeGetGraph(first, &copy));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(copy));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&exec, copy, 0));
  size_t count = 0;
  CHECK_CU(cuGraphGetNodes(copy, nullptr, &count));
  EXPECT_EQ(count, 1u);
  CHECK_CU(cuGraphDestroy(parent));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(copy, nullptr, &count));
  CHECK_CU(cuGraphDestroy(child));
}

TEST_F(ChildGraphTest, AClonesNodesAreItsOwn) {
  CUgraph graph = NewGraph(), clone = nullptr;
  CUgraphNode first = Note(graph, 1);
  Note(graph, 2, {first});
  CHECK_CU(cuGraphClone(&clone, graph));
  CUgraphNode nodes[2] = {};
  size_t count = 2;
  CHECK_CU(cuGraphGetNodes(clone, nodes, &count));
  EXPECT_NE(nodes[0], first);
  CUgraphNode roots[2] = {};
  CHECK_CU(cuGraphGetRootNodes(clone, roots, &count));
  EXPECT_EQ(count, 1u);  // the other one depends on it, as in the original
  EXPECT_EQ(roots[0], nodes[0]);
  Note(graph, 3);
  CHECK_CU(cuGraphDestroy(graph));
  EXPECT_EQ(Run(clone), (std::vector<int>{1, 2}));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphClone(nullptr, clone));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphClone(&graph, graph));
}

TEST_F(ChildGraphTest, MemoryNodesMoveAndAreNotCopied) {
  CUgraph child = NewGraph(), parent = NewGraph(), clone = nullptr;
  CUgraphNodeParams alloc = {};
  alloc.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  alloc.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  alloc.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  alloc.alloc.bytesize = 3 * kMiB;
  CUgraphNode node = nullptr, within = nullptr;
  CHECK_CU(cuGraphAddNode(&node, child, nullptr, nullptr, 0, &alloc));
  ASSERT_NE(alloc.alloc.dptr, 0u);
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&clone, child));
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddChildGraphNode(&within, parent, nullptr, 0, child));
  CUgraphNodeParams moved = {};
  moved.type = CU_GRAPH_NODE_TYPE_GRAPH;
  moved.graph.graph = child;
  moved.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  CHECK_CU(cuGraphAddNode(&within, parent, nullptr, nullptr, 0, &moved));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&within, parent, nullptr, nullptr, 0, &moved));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(child));
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&clone, parent));
  Run(parent);
  EXPECT_EQ(Memory().graph_bytes, 4 * kMiB);
  CHECK_CU(cuMemFree(alloc.alloc.dptr));
  CHECK_CU(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(Memory().graph_bytes, 0u);
  CHECK_CU(cuGraphDestroy(parent));
}

}  // namespace
}  // namespace memprof::simcuda
