// Memory nodes of graphs: by hand, captured, left allocated, freed elsewhere; the accounts.
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=256MiB,overhead=0,devices=2");

class GraphMemoryTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CHECK_CU(cuGraphCreate(&graph_, 0));
  }
  void TearDown() override {
    if (exec_ != nullptr) {
      CHECK_CU(cuGraphExecDestroy(exec_));
    }
    CHECK_CU(cuGraphDestroy(graph_));
    DriverTest::TearDown();
  }
  static CUDA_MEM_ALLOC_NODE_PARAMS Params(size_t bytes, int device = 0) {
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
    params.bytesize = bytes;
    return params;
  }
  // Adds nodes after the last one.
  CUdeviceptr AddAlloc(CUgraph graph, size_t bytes, int device = 0) {
    auto params = Params(bytes, device);
    const CUgraphNode before = last_;
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphAddMemAllocNode(&last_, graph, &before, before == nullptr ? 0 : 1, &params));
    return params.dptr;
  }
  CUresult AddFree(CUgraph graph, CUdeviceptr address) {
    return cuGraphAddMemFreeNode(&last_, graph, nullptr, 0, address);
  }
  void AddFill(CUdeviceptr address, unsigned char value, size_t bytes) {
    CUDA_MEMSET_NODE_PARAMS fill = {};
    fill.dst = address;
    fill.value = value;
    fill.elementSize = 1;
    fill.width = bytes;
    fill.height = 1;
    const CUgraphNode before = last_;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphAddMemsetNode(&last_, graph_, &before, before == nullptr ? 0 : 1,
                                                 &fill, context_));
  }
  CUresult Launch() {
    if (exec_ == nullptr) {
      EXPECT_EQ(CUDA_SUCCESS, cuGraphInstantiate(&exec_, graph_, 0));
    }
    return cuGraphLaunch(exec_, stream_);
  }
  static cuuint64_t Get(CUgraphMem_attribute attribute, int device = 0) {
    cuuint64_t value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuDeviceGetGraphMemAttribute(device, attribute, &value));
    return value;
  }
  static cuuint64_t Used() { return Get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT); }
  static cuuint64_t Reserved() { return Get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT); }
  int ByteAt(CUdeviceptr address) {
    unsigned char byte = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&byte, address, 1));
    return byte;
  }
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUgraphNode last_ = nullptr;
};

TEST_F(GraphMemoryTest, MemoryComesWithTheLaunch) {
  const CUdeviceptr block = AddAlloc(graph_, 3 * kMiB);
  ASSERT_NE(block, 0u);
  AddFill(block, 7, 3 * kMiB);
  // The address is known, the memory is not there yet.
  EXPECT_EQ(Memory().free_bytes, 256 * kMiB);
  EXPECT_EQ(Memory().live_allocations, 0u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(block));
  CHECK_CU(Launch());
  EXPECT_EQ(Memory().graph_bytes, 4 * kMiB);
  EXPECT_EQ(Memory().live_allocations, 1u);
  EXPECT_EQ(Used(), 4 * kMiB);
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(ByteAt(block + 3 * kMiB - 1), 7);
  int ordinal = -1;
  CHECK_CU(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, block));
  EXPECT_EQ(ordinal, 0);
  // Launched again while allocated: no.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, Launch());
  EXPECT_EQ(Used(), 4 * kMiB);
  CHECK_CU(cuMemFree(block));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(block));
  EXPECT_EQ(Used(), 0u);
  // Kept for the next launch until it is trimmed.
  EXPECT_EQ(Reserved(), 4 * kMiB);
  CHECK_CU(Launch());
  EXPECT_EQ(Reserved(), 4 * kMiB);
  CHECK_CU(cuMemFreeAsync(block, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  CHECK_CU(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(Reserved(), 0u);
  EXPECT_EQ(Memory().free_bytes, 256 * kMiB);
}

TEST_F(GraphMemoryTest, FreedInTheGraphItNeedsItsPeak) {
  // 10 MiB, then 6 MiB while the first is there, then the first goes, then 2 MiB come and all go.
  const CUdeviceptr first = AddAlloc(graph_, 10 * kMiB);
  const CUdeviceptr second = AddAlloc(graph_, 6 * kMiB);
  CHECK_CU(AddFree(graph_, first));
  const CUdeviceptr third = AddAlloc(graph_, 2 * kMiB);
  AddFill(third, 1, 10);
  CHECK_CU(AddFree(graph_, third));
  CHECK_CU(AddFree(graph_, second));
  for (int round = 0; round < 3; ++round) CHECK_CU(Launch());
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Reserved(), 16 * kMiB);
  EXPECT_EQ(Get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 16 * kMiB);
  EXPECT_EQ(Get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 16 * kMiB);
  EXPECT_EQ(Memory().live_allocations, 0u);
  // Nothing outside can free it.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(first));
  CHECK_CU(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(Get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 16 * kMiB);
  cuuint64_t zero = 0;
  CHECK_CU(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero));
  CHECK_CU(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
  EXPECT_EQ(Get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 0u);
  EXPECT_EQ(Get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0u);
}

TEST_F(GraphMemoryTest, FreesMayComeFromAnotherGraph) {
  const CUdeviceptr block = AddAlloc(graph_, kMiB);
  CUgraph other = nullptr;
  CHECK_CU(cuGraphCreate(&other, 0));
  last_ = nullptr;
  CHECK_CU(AddFree(other, block));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(other, block));   // twice
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(graph_, block));  // both here and there
  CUgraphExec freeing = nullptr;
  CHECK_CU(cuGraphInstantiate(&freeing, other, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(freeing, stream_));  // nothing allocated
  CHECK_CU(Launch());
  EXPECT_EQ(Used(), 2 * kMiB);
  CHECK_CU(cuGraphLaunch(freeing, stream_));
  EXPECT_EQ(Used(), 0u);
  CHECK_CU(Launch());
  CHECK_CU(cuGraphLaunch(freeing, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  CHECK_CU(cuGraphExecDestroy(freeing));
  CHECK_CU(cuGraphDestroy(other));
}

TEST_F(GraphMemoryTest, FreesThatAreRefused) {
  const CUdeviceptr block = AddAlloc(graph_, kMiB);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(graph_, block + 512));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(graph_, 0));
  CUdeviceptr linear = 0;
  CHECK_CU(cuMemAlloc(&linear, 100));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(graph_, linear));
  CHECK_CU(AddFree(graph_, block));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(graph_, block));
  CUgraph other = nullptr;
  CHECK_CU(cuGraphCreate(&other, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(other, block));
  CHECK_CU(cuGraphDestroy(other));
  CHECK_CU(cuMemFree(linear));
}

TEST_F(GraphMemoryTest, ParametersAreCheckedAndGivenBack) {
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
  // Such a graph keeps its nodes, and has one executable.
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphDestroyNode(release));
  CHECK_CU(Launch());
  CUgraphExec second = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiate(&second, graph_, 0));
  CHECK_CU(cuStreamSynchronize(stream_));
  CHECK_CU(cuGraphExecDestroy(exec_));
  CHECK_CU(cuGraphInstantiate(&exec_, graph_, 0));
  // It took memory of the second device.
  EXPECT_EQ(Memory(1).graph_bytes, 2 * kMiB);
  EXPECT_EQ(Memory(0).graph_bytes, 0u);
  CHECK_CU(cuDeviceGraphMemTrim(1));
  EXPECT_EQ(Memory(1).graph_bytes, 0u);
}

TEST_F(GraphMemoryTest, AutoFreeMakesRoomForTheNextLaunch) {
  const CUdeviceptr block = AddAlloc(graph_, 4 * kMiB);
  AddFill(block, 9, 4 * kMiB);
  CHECK_CU(cuGraphInstantiate(&exec_, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  for (int round = 0; round < 3; ++round) CHECK_CU(Launch());
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(ByteAt(block), 9);
  EXPECT_EQ(Used(), 4 * kMiB);
  EXPECT_EQ(Reserved(), 4 * kMiB);
  EXPECT_EQ(Get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 4 * kMiB);
  CHECK_CU(cuMemFree(block));
}

TEST_F(GraphMemoryTest, OutOfMemoryIsToldByTheLaunch) {
  AddAlloc(graph_, 100 * kMiB);
  CUdeviceptr taken = 0;
  CHECK_CU(cuMemAlloc(&taken, 157 * kMiB));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, Launch());
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Reserved(), 0u);
  EXPECT_EQ(Memory().graph_bytes, 0u);
  CHECK_CU(cuMemFree(taken));
  CHECK_CU(Launch());
  // The primary context's end takes it away.
  CHECK_CU(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Memory().free_bytes, 256 * kMiB);
  CHECK_CU(cuDevicePrimaryCtxRetain(&context_, 0));
  CHECK_CU(cuCtxSetCurrent(context_));
}

TEST_F(GraphMemoryTest, DestroyedGraphsLeaveTheirMemory) {
  const CUdeviceptr block = AddAlloc(graph_, kMiB);
  AddFill(block, 21, kMiB);
  CHECK_CU(Launch());
  CHECK_CU(cuStreamSynchronize(stream_));
  CHECK_CU(cuGraphExecDestroy(exec_));
  exec_ = nullptr;
  CHECK_CU(cuGraphDestroy(graph_));
  EXPECT_EQ(ByteAt(block), 21);
  CHECK_CU(cuMemFree(block));
  unsigned char byte = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&byte, block, 1));
  CHECK_CU(cuGraphCreate(&graph_, 0));
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
  // Nothing has been allocated by all that.
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
  // A graph with memory is no child of another.
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
  // Marks are only set back to zero, and what is current is no mark.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
  value = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value));
}

// Random graphs over a few allocations against a count by hand.
TEST_F(GraphMemoryTest, RandomLaunchesAgreeWithTwin) {
  std::mt19937 random(5);
  struct Piece {
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr address;
    size_t pages;
    bool frees_itself;
    bool live;
  };
  std::vector<Piece> pieces;
  for (int i = 0; i < 6; ++i) {
    Piece piece = {};
    CHECK_CU(cuGraphCreate(&piece.graph, 0));
    last_ = nullptr;
    piece.pages = 1 + random() % 20;
    piece.frees_itself = i % 3 == 0;
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
