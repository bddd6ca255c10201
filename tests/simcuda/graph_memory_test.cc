// Memory nodes of graphs: launched, left allocated, freed elsewhere.

#include "tests/simcuda/graph_memory_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=256MiB,overhead=0,devices=2");

TEST_F(GraphMemoryTest, MemoryComesWithTheLaunch) {
  const CUdeviceptr block = AddAlloc(graph_, 3 * kMiB);
  ASSERT_NE(block, 0u);
  AddFill(block, 7, 3 * kMiB);
  // The address is known, but there is no memory yet.
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
  // A launch is refused while the memory is allocated.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, Launch());
  EXPECT_EQ(Used(), 4 * kMiB);
  CHECK_CU(cuMemFree(block));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(block));
  EXPECT_EQ(Used(), 0u);
  // The memory is kept for the next launch until it is trimmed.
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
  // 10 MiB, then 6 MiB while the first is allocated, then the first is freed, then 2 MiB; at the
  // end all are freed.
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
  // It cannot be freed outside of the graph.
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
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(other, block));   // freed twice in one graph
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, AddFree(graph_, block));  // freed in both graphs
  CUgraphExec freeing = nullptr;
  CHECK_CU(cuGraphInstantiate(&freeing, other, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(freeing, stream_));  // not allocated yet
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

TEST_F(GraphMemoryTest, OutOfMemoryIsReportedByTheLaunch) {
  AddAlloc(graph_, 100 * kMiB);
  CUdeviceptr taken = 0;
  CHECK_CU(cuMemAlloc(&taken, 157 * kMiB));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, Launch());
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Reserved(), 0u);
  EXPECT_EQ(Memory().graph_bytes, 0u);
  CHECK_CU(cuMemFree(taken));
  CHECK_CU(Launch());
  // The end of the primary context frees it.
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

}  // namespace
}  // namespace memprof::simcuda
