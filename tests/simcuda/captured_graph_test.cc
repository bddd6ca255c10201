// Graphs and their nodes: kinds, dependencies, graphs inside others, and the calls that they
// refuse.
#include <vector>

#include "tests/simcuda/capture_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

TEST_F(CaptureTest, CapturedNodesAreOfTheirKinds) {
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(Fill(streams_[0]));
  unsigned host[8] = {};
  CHECK_CU(cuMemcpyDtoHAsync(host, values_, 32, streams_[0]));
  CHECK_CU(cuLaunchHostFunc(
      streams_[0], [](void* data) { ++static_cast<unsigned*>(data)[0]; }, host));
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamEndCapture(streams_[0], &graph));
  CUgraphNode nodes[4] = {};
  size_t count = 4;
  CHECK_CU(cuGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 3u);
  const CUgraphNodeType expected[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                                      CU_GRAPH_NODE_TYPE_HOST};
  for (size_t i = 0; i < count; ++i) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CHECK_CU(cuGraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(type, expected[i]);
  }
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  // The executable outlives its graph.
  CHECK_CU(cuGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) CHECK_CU(cuGraphLaunch(exec, streams_[1]));
  CHECK_CU(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(host[0], 2u);
  EXPECT_EQ(host[7], 1u);
  CHECK_CU(cuGraphExecDestroy(exec));
}

TEST_F(CaptureTest, AGraphInsideAnother) {
  CHECK_CU(Begin(streams_[0]));
  int runs = 0;
  CHECK_CU(cuLaunchHostFunc(
      streams_[0], [](void* data) { ++*static_cast<int*>(data); }, &runs));
  CUgraph inner = nullptr;
  CHECK_CU(cuStreamEndCapture(streams_[0], &inner));
  CUgraphExec inner_exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&inner_exec, inner, 0));
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(cuGraphLaunch(inner_exec, streams_[0]));
  CHECK_CU(cuGraphLaunch(inner_exec, streams_[0]));
  CUgraph outer = nullptr;
  CHECK_CU(cuStreamEndCapture(streams_[0], &outer));
  EXPECT_EQ(runs, 0);
  CUgraphExec outer_exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&outer_exec, outer, 0));
  CHECK_CU(cuGraphExecDestroy(inner_exec));
  CHECK_CU(cuGraphLaunch(outer_exec, streams_[0]));
  CHECK_CU(cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(runs, 2);
  CHECK_CU(cuGraphExecDestroy(outer_exec));
  CHECK_CU(cuGraphDestroy(outer));
  CHECK_CU(cuGraphDestroy(inner));
}

TEST_F(CaptureTest, DeadGraphsAreRefusedEverywhere) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphCreate(&graph, 0));
  CHECK_CU(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(graph));
  size_t count = 0;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  const CUDA_HOST_NODE_PARAMS host = {[](void*) {}, nullptr};
  const CUresult results[] = {cuGraphDestroy(graph),
                              cuGraphExecDestroy(exec),
                              cuGraphLaunch(exec, streams_[0]),
                              cuGraphUpload(exec, streams_[0]),
                              cuGraphInstantiate(&exec, graph, 0),
                              cuGraphAddEmptyNode(&node, graph, nullptr, 0),
                              cuGraphAddHostNode(&node, graph, nullptr, 0, &host),
                              cuGraphGetNodes(graph, nullptr, &count),
                              cuGraphGetRootNodes(graph, nullptr, &count),
                              cuGraphNodeGetType(node, &type),
                              cuGraphDestroyNode(node),
                              cuGraphCreate(&graph, 1),
                              cuGraphCreate(nullptr, 0)};
  for (const CUresult& result : results) {
    EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE) << &result - results;
  }
}

TEST_F(CaptureTest, NodesDependOnNodesOfTheirGraphAlone) {
  CUgraph graph = nullptr;
  CHECK_CU(cuGraphCreate(&graph, 0));
  std::vector<CUgraphNode> nodes(4);
  // A graph in the form of a diamond.
  CHECK_CU(cuGraphAddEmptyNode(&nodes[0], graph, nullptr, 0));
  CHECK_CU(cuGraphAddEmptyNode(&nodes[1], graph, &nodes[0], 1));
  CHECK_CU(cuGraphAddEmptyNode(&nodes[2], graph, &nodes[0], 1));
  CHECK_CU(cuGraphAddEmptyNode(&nodes[3], graph, &nodes[1], 2));
  CUgraphNode none = nullptr;
  const auto bogus = reinterpret_cast<CUgraphNode>(&none);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&none, graph, &bogus, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&none, graph, nullptr, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(nullptr, graph, nullptr, 0));
  const CUDA_HOST_NODE_PARAMS empty = {};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&none, graph, nullptr, 0, &empty));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&none, graph, nullptr, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGraphAddMemcpyNode(&none, graph, nullptr, 0, nullptr, context_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGraphAddMemsetNode(&none, graph, nullptr, 0, nullptr, context_));
  EXPECT_EQ(none, nullptr);
  // Arrays that are smaller and larger than the number of nodes.
  CUgraphNode got[8] = {bogus, bogus, bogus, bogus, bogus, bogus, bogus, bogus};
  size_t count = 2;
  CHECK_CU(cuGraphGetNodes(graph, got, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(got[1], nodes[1]);
  EXPECT_EQ(got[2], bogus);
  count = 6;
  CHECK_CU(cuGraphGetNodes(graph, got, &count));
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(got[3], nodes[3]);
  EXPECT_EQ(got[5], nullptr);
  EXPECT_EQ(got[6], bogus);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(graph, got, nullptr));
  CHECK_CU(cuGraphDestroyNode(nodes[0]));
  count = 8;
  CHECK_CU(cuGraphGetRootNodes(graph, got, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(nodes[0]));
  CHECK_CU(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, ALaunchRunsAllNodesInOrder) {
  std::vector<int> ran;
  struct Note {
    std::vector<int>* ran;
    int value;
  };
  Note notes[] = {{&ran, 0}, {&ran, 1}, {&ran, 2}};
  const CUhostFn write = [](void* data) {
    const auto* note = static_cast<Note*>(data);
    note->ran->push_back(note->value);
  };
  CHECK_CU(Begin(streams_[0]));
  for (Note& note : notes) CHECK_CU(cuLaunchHostFunc(streams_[0], write, &note));
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamEndCapture(streams_[0], &graph));
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 10; ++i) CHECK_CU(cuGraphLaunch(exec, streams_[1]));
  CHECK_CU(cuCtxSynchronize());
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(graph));
  ASSERT_EQ(ran.size(), 30u);
  for (size_t i = 0; i < ran.size(); ++i) EXPECT_EQ(ran[i], static_cast<int>(i % 3));
}

}  // namespace
}  // namespace memprof::simcuda
