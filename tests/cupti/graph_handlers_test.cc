// Events of graphs' memory nodes, imports, advice, bindings and checkpoints, told by callbacks.
#include "cupti_hooks/src/graph_handlers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cupti_hooks/src/log_values.h"
#include "tests/cupti/callback_driver.h"

namespace memprof::cupti {
namespace {

using cupti_test::FakeRecorder;
using cupti_test::Succeed;

constexpr CUdeviceptr kFirst = 0x7e0000000000, kSecond = 0x7e0001000000;

class GraphHandlers : public cupti_test::HandlerTest {
 protected:
  static CUgraph Graph(std::uint64_t number) { return reinterpret_cast<CUgraph>(number); }
  static CUgraphExec Exec(std::uint64_t number) { return reinterpret_cast<CUgraphExec>(number); }
  void AddAlloc(CUgraph graph, CUdeviceptr address, std::size_t bytes, int device = 3) {
    CUDA_MEM_ALLOC_NODE_PARAMS node{};
    node.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
    node.bytesize = bytes;
    node.dptr = address;
    cuGraphAddMemAllocNode_params params{nullptr, graph, nullptr, 0, &node};
    Succeed("cuGraphAddMemAllocNode", &params);
  }
  void Instantiate(CUgraph graph, CUgraphExec exec) {
    cuGraphInstantiateWithFlags_params params{&exec, graph, 0};
    Succeed("cuGraphInstantiateWithFlags", &params);
  }
  // "op layer address bytes" of what was recorded, but for launches.
  std::vector<std::string> Story() {
    std::vector<std::string> story;
    for (const SourceEvent& event : recorder_.Events())
      if (event.op != kOpLaunch)
        story.push_back(std::to_string(event.op) + " " + std::to_string(event.layer) + " " +
                        std::to_string(event.address) + " " + std::to_string(event.bytes));
    return story;
  }
  using Words = std::vector<std::string>;
  SourceEvent First(std::uint32_t op) {
    const std::vector<SourceEvent> events = recorder_.Events(op);
    EXPECT_EQ(events.size(), 1u);
    return events.empty() ? SourceEvent{} : events[0];
  }
};

TEST_F(GraphHandlers, ALaunchAllocatesWithTheStackOfTheNode) {
  AddAlloc(Graph(1), kFirst, 64);
  EXPECT_TRUE(recorder_.Events().empty());
  Instantiate(Graph(1), Exec(7));
  cuGraphLaunch_params launch{Exec(7), nullptr};
  Succeed("cuGraphLaunch", &launch);
  const SourceEvent event = First(kOpAlloc);
  EXPECT_EQ(event.layer, kLayerGraph);
  EXPECT_EQ(event.device, 3);
  EXPECT_EQ(event.aux0, 7u);
  EXPECT_EQ(event.stack, FakeRecorder::kStack);
  EXPECT_EQ(event.with_stack, 0u);
  cuMemFree_v2_params free{kFirst};
  Succeed("cuMemFree_v2", &free);
  Succeed("cuGraphLaunch", &launch);
  EXPECT_EQ(recorder_.Events(kOpAlloc).size(), 2u);
  EXPECT_EQ(recorder_.Events(kOpFree).size(), 1u) << "not freed a second time by the launch";
}

TEST_F(GraphHandlers, FreeNodesAndDestroyedGraphs) {
  AddAlloc(Graph(21), kSecond, 64);
  cuGraphAddMemFreeNode_params node{nullptr, Graph(21), nullptr, 0, kSecond};
  Succeed("cuGraphAddMemFreeNode", &node);
  Instantiate(Graph(21), Exec(27));
  cuGraphDestroy_params graph{Graph(21)};
  Succeed("cuGraphDestroy", &graph);
  cuGraphLaunch_params launch{Exec(27), nullptr};
  Succeed("cuGraphLaunch_ptsz", &launch);
  EXPECT_EQ(Story(), (Words{"1 11 " + std::to_string(kSecond) + " 64",
                            "2 11 " + std::to_string(kSecond) + " 64"}));
  cuGraphExecDestroy_params exec{Exec(27)};
  Succeed("cuGraphExecDestroy", &exec);
  Succeed("cuGraphLaunch", &launch);
  EXPECT_EQ(Story().size(), 2u);
}

int g_active = 1;
int PrimaryState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = g_active;
  return 0;
}

// Graph memory belongs to no context's end: it is freed event by event, once it is the last.
TEST_F(GraphHandlers, MemoryEndsWithTheLastReleaseOfThePrimaryContext) {
  recorder_.SetDriverFunction("cuDevicePrimaryCtxGetState", reinterpret_cast<void*>(&PrimaryState));
  cupti::LookUpDriver();
  constexpr CUdeviceptr kOwn = 0x7e0005000000;
  // The ledger is the process's: other tests have left memory on other devices.
  const auto freed = [this] {
    int count = 0;
    for (const SourceEvent& event : recorder_.Events(kOpFree)) {
      if (event.address != kOwn) continue;
      EXPECT_EQ(event.layer, kLayerGraph);
      EXPECT_EQ(event.bytes, 64u);
      EXPECT_EQ(event.device, 9);
      ++count;
    }
    return count;
  };
  AddAlloc(Graph(31), kOwn, 64, 9);
  Instantiate(Graph(31), Exec(37));
  cuGraphLaunch_params launch{Exec(37), nullptr};
  Succeed("cuGraphLaunch", &launch);
  cuDevicePrimaryCtxRelease_v2_params release{9};
  g_active = 1;
  Succeed("cuDevicePrimaryCtxRelease_v2", &release);
  EXPECT_EQ(freed(), 0) << "others hold the context";
  g_active = 0;
  cupti_test::DriverCall("cuDevicePrimaryCtxRelease_v2", &release)
      .Enter()
      .Exit(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(freed(), 0) << "that release failed";
  Succeed("cuDevicePrimaryCtxRelease_v2", &release);
  EXPECT_EQ(freed(), 1);
  Succeed("cuDevicePrimaryCtxRelease", &release);
  EXPECT_EQ(freed(), 1) << "once";
  Succeed("cuGraphLaunch", &launch);
  const std::uint64_t green = 1;
  Succeed("cuGreenCtxDestroy", &green);
  EXPECT_EQ(freed(), 2) << "a green context held the primary one";
}

// Where the hooks record the reset, what it ended must not be freed again by the next launch.
TEST_F(GraphHandlers, AResetEndsItWhoeverRecordsTheReset) {
  AddAlloc(Graph(41), 0x7e0006000000, 64, 10);
  Instantiate(Graph(41), Exec(47));
  cuGraphLaunch_params launch{Exec(47), nullptr};
  Succeed("cuGraphLaunch", &launch);
  recorder_.SetInsideHook(true);
  cuDevicePrimaryCtxReset_v2_params reset{10};
  Succeed("cuDevicePrimaryCtxReset_v2", &reset);
  recorder_.SetInsideHook(false);
  Succeed("cuGraphLaunch", &launch);
  EXPECT_TRUE(recorder_.Events(kOpFree).empty());
  EXPECT_TRUE(recorder_.Events(kOpDeviceReset).empty());
  EXPECT_EQ(recorder_.Events(kOpAlloc).size(), 2u);
}

TEST_F(GraphHandlers, ImportsTellTheirKind) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC object{};
  object.size = 900;
  auto memory = reinterpret_cast<CUexternalMemory>(0x55);
  cuImportExternalMemory_params import{&memory, &object};
  Succeed("cuImportExternalMemory", &import);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
  part.size = 300;
  CUdeviceptr address = 0x7f0050000000;
  cuExternalMemoryGetMappedBuffer_params map{&address, memory, &part};
  Succeed("cuExternalMemoryGetMappedBuffer", &map);
  CUdeviceptr other = 0x7f0060000000;
  cuMemPoolImportPointer_params pointer{&other, reinterpret_cast<CUmemoryPool>(0x66), nullptr};
  Succeed("cuMemPoolImportPointer", &pointer);
  const auto events = recorder_.Events(kOpAlloc);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].address, 0x55u);
  EXPECT_EQ(events[0].aux1, kImportExternal);
  EXPECT_EQ(events[1].aux0, 0x55u);
  EXPECT_EQ(events[1].aux1, kImportExternalView);
  EXPECT_EQ(events[2].aux0, 0x66u);
  EXPECT_EQ(events[2].aux1, kImportPoolPointer);
  cuDestroyExternalMemory_params destroy{memory};
  Succeed("cuDestroyExternalMemory", &destroy);
  EXPECT_EQ(First(kOpFree).layer, kLayerImported);
}

TEST_F(GraphHandlers, AdviceNamesItsPlace) {
  cuMemPrefetchAsync_params prefetch{1000, 10, 1, nullptr};
  Succeed("cuMemPrefetchAsync", &prefetch);
  prefetch.dstDevice = CU_DEVICE_CPU;
  Succeed("cuMemPrefetchAsync_ptsz", &prefetch);
  const auto events = recorder_.Events(kOpPrefetch);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].device, 1);
  EXPECT_EQ(events[0].aux1, 1u);
  EXPECT_EQ(events[1].device, kNoDevice);
  EXPECT_EQ(events[1].aux1, 2u);
  cuMemAdvise_params advise{1000, 10, CU_MEM_ADVISE_SET_READ_MOSTLY, 0};
  Succeed("cuMemAdvise", &advise);
  EXPECT_EQ(First(kOpAdvise).aux0, 1u);
}

TEST_F(GraphHandlers, CheckpointsAreMarked) {
  CheckpointParams params{77, nullptr};
  Succeed("cuCheckpointProcessCheckpoint", &params);
  EXPECT_EQ(First(kOpCheckpoint).aux0, 2u);
  EXPECT_EQ(First(kOpCheckpoint).aux1, 77u);
}

}  // namespace
}  // namespace memprof::cupti
