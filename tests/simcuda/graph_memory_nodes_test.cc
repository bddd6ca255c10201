// Parameters of memory nodes, captured memory nodes, attributes; random graphs against a simple
// model.
#include <random>
#include <vector>

#include "tests/simcuda/graph_memory_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=256MiB,overhead=0,devices=2");

TEST_F(GraphMemoryTest, ParametersAreCheckedAndReturned) {
  CUgraphNode node = nullptr;
  const CUmemAccessDesc peer = {{CU_MEM_LOCATION_TYPE_DEVICE, {1}},
                                CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const CUmemAccessDesc nobody = {{CU_MEM_LOCATION_TYPE_DEVICE, {9}},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  struct {
    const char* what;
    CUresult expected;
    CUDA_MEM_ALLOC_NODE_PARAMS params;
  } cases[] = {{"no bytes", CUDA_ERROR_INVALID_VALUE, Params(0)},
               {"no such device", CUDA_ERROR_INVALID_VALUE, Params(10, 5)},
               {"more than there is", CUDA_ERROR_OUT_OF_MEMORY, Params(257 * kMiB)},
               {"to be exported", CUDA_ERROR_INVALID_VALUE, Params(10)},
               {"access of nobody", CUDA_ERROR_INVALID_VALUE, Params(10)},
               {"access without a list", CUDA_ERROR_INVALID_VALUE, Params(10)}};
  cases[3].params.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  cases[4].params.accessDescs = &nobody;
  cases[4].params.accessDescCount = 1;
  cases[5].params.accessDescCount = 1;
  for (auto& one : cases) {
    EXPECT_EQ(one.expected, cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &one.params))
        << one.what;
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, nullptr));
  auto good = Params(1000, 1);
  good.accessDescs = &peer;
  good.accessDescCount = 1;
  CHECK_CU(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &good));
  CUDA_MEM_ALLOC_NODE_PARAMS got = {};
  CHECK_CU(cuGraphMemAllocNodeGetParams(node, &got));
  EXPECT_EQ(got.bytesize, 1000u);
  EXPECT_EQ(got.dptr, good.dptr);
  EXPECT_EQ(got.poolProps.location.id, 1);
  CUdeviceptr freed = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphMemFreeNodeGetParams(node, &freed));
  CUgraphNode release = nullptr;
  CHECK_CU(cuGraphAddMemFreeNode(&release, graph_, &node, 1, good.dptr));
  CHECK_CU(cuGraphMemFreeNodeGetParams(release, &freed));
  EXPECT_EQ(freed, good.dptr);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CHECK_CU(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  CHECK_CU(cuGraphNodeGetType(release, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  // A graph with memory nodes cannot lose a node, and has only one executable.
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphDestroyNode(release));
  CHECK_CU(Launch());
  CUgraphExec second = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiate(&second, graph_, 0));
  CHECK_CU(cuStreamSynchronize(stream_));
  CHECK_CU(cuGraphExecDestroy(exec_));
  CHECK_CU(cuGraphInstantiate(&exec_, graph_, 0));
  // The launch took memory of the second device.
  EXPECT_EQ(Memory(1).graph_bytes, 2 * kMiB);
  EXPECT_EQ(Memory(0).graph_bytes, 0u);
  CHECK_CU(cuDeviceGraphMemTrim(1));
  EXPECT_EQ(Memory(1).graph_bytes, 0u);
}

TEST_F(GraphMemoryTest, StreamOrderedCallsAreCaptured) {
  CHECK_CU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUdeviceptr inside = 0;
  CUdeviceptr left = 0;
  CHECK_CU(cuMemAllocAsync(&inside, 1000, stream_));
  CHECK_CU(cuMemAllocAsync(&left, 3 * kMiB, stream_));
  CHECK_CU(cuMemsetD8Async(inside, 5, 1000, stream_));
  CHECK_CU(cuMemcpyDtoDAsync(left, inside, 1000, stream_));
  CHECK_CU(cuMemFreeAsync(inside, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(inside, stream_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(&inside, 0, stream_));
  CUgraph captured = nullptr;
  CHECK_CU(cuStreamEndCapture(stream_, &captured));
  // The captured calls have not allocated anything.
  EXPECT_EQ(Memory().free_bytes, 256 * kMiB);
  size_t count = 8;
  CUgraphNode nodes[8] = {};
  CHECK_CU(cuGraphGetNodes(captured, nodes, &count));
  ASSERT_EQ(count, 5u);
  const CUgraphNodeType expected[] = {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                                      CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                                      CU_GRAPH_NODE_TYPE_MEM_FREE};
  for (size_t i = 0; i < count; ++i) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CHECK_CU(cuGraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(type, expected[i]) << i;
  }
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, captured, 0));
  CHECK_CU(cuGraphLaunch(exec, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(ByteAt(left + 999), 5);
  EXPECT_EQ(Used(), 4 * kMiB);
  EXPECT_EQ(Reserved(), 6 * kMiB);
  CHECK_CU(cuMemFreeAsync(left, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  // A graph with memory nodes cannot be a child graph.
  CHECK_CU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphLaunch(exec, stream_));
  CUgraph empty = nullptr;
  CHECK_CU(cuStreamEndCapture(stream_, &empty));
  CHECK_CU(cuGraphDestroy(empty));
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(captured));
}

TEST_F(GraphMemoryTest, AttributesOfNothing) {
  cuuint64_t value = 1;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGraphMemTrim(2));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE,
            cuDeviceGetGraphMemAttribute(2, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDeviceGetGraphMemAttribute(0, static_cast<CUgraphMem_attribute>(17), &value));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE,
            cuDeviceSetGraphMemAttribute(2, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
  // High-water marks can only be reset to zero, and current values cannot be set.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
  value = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value));
}

// A graph with one allocation, which the graph itself may free.
struct Piece {
  CUgraph graph;
  CUgraphExec exec;
  CUdeviceptr address;
  size_t pages;
  bool frees_itself;
  bool live;
};

// Random graphs over a few allocations against a simple model.
TEST_F(GraphMemoryTest, RandomLaunchesAgreeWithTwin) {
  std::mt19937 random(5);
  std::vector<Piece> pieces;
  for (int i = 0; i < 6; ++i) {
    last_ = nullptr;
    Piece piece = {};
    piece.pages = 1 + random() % 20;
    piece.frees_itself = i % 3 == 0;
    CHECK_CU(cuGraphCreate(&piece.graph, 0));
    piece.address = AddAlloc(piece.graph, piece.pages * 2 * kMiB - random() % kMiB);
    if (piece.frees_itself) {
      CHECK_CU(AddFree(piece.graph, piece.address));
    }
    CHECK_CU(cuGraphInstantiate(&piece.exec, piece.graph, 0));
    pieces.push_back(piece);
  }
  size_t used = 0;
  size_t used_high = 0;
  size_t reserved = 0;
  for (int round = 0; round < 400; ++round) {
    Piece& piece = pieces[random() % pieces.size()];
    const size_t bytes = piece.pages * 2 * kMiB;
    if (random() % 8 == 0) {
      CHECK_CU(cuDeviceGraphMemTrim(0));
      reserved = used;
    } else if (random() % 3 == 0) {
      const CUresult expected = piece.live ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      ASSERT_EQ(expected, cuMemFreeAsync(piece.address, stream_));
      if (piece.live) used -= bytes;
      piece.live = false;
    } else {
      const bool fits = used + bytes <= 256 * kMiB;
      const CUresult expected = piece.live ? CUDA_ERROR_INVALID_VALUE
                                : fits     ? CUDA_SUCCESS
                                           : CUDA_ERROR_OUT_OF_MEMORY;
      ASSERT_EQ(expected, cuGraphLaunch(piece.exec, stream_));
      if (expected == CUDA_SUCCESS) {
        used_high = std::max(used_high, used + bytes);
        reserved = std::max(reserved, used + bytes);
        if (!piece.frees_itself) {
          used += bytes;
          piece.live = true;
        }
      }
    }
    ASSERT_EQ(Used(), used);
    ASSERT_EQ(Reserved(), reserved);
    ASSERT_EQ(Get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), used_high);
    ASSERT_EQ(Memory().graph_bytes, reserved);
  }
  CHECK_CU(cuStreamSynchronize(stream_));
  for (const Piece& piece : pieces) {
    CHECK_CU(cuGraphExecDestroy(piece.exec));
    CHECK_CU(cuGraphDestroy(piece.graph));
  }
}

}  // namespace
}  // namespace memprof::simcuda
