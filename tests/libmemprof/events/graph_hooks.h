// Graphs with nodes that allocate and free memory.
#pragma once

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {

class GraphHooks : public HooksTest {
 protected:
  using Dependencies = const CUgraphNode*;
  static CUgraph Graph(std::uint64_t number) { return reinterpret_cast<CUgraph>(number); }
  CUdeviceptr AddAlloc(CUgraph graph, std::size_t bytes, int device = 0) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
    params.bytesize = bytes;
    CUgraphNode node = nullptr;
    EXPECT_EQ(Call("cuGraphAddMemAllocNode", &node, graph, Dependencies{}, std::size_t{0}, &params),
              CUDA_SUCCESS);
    return params.dptr;
  }
  void AddFree(CUgraph graph, CUdeviceptr address) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(Call("cuGraphAddMemFreeNode", &node, graph, Dependencies{}, std::size_t{0}, address),
              CUDA_SUCCESS);
  }
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(Call("cuGraphInstantiateWithFlags", &exec, graph, 0ull), CUDA_SUCCESS);
    return exec;
  }
  CUresult Launch(CUgraphExec exec, const char* function = "cuGraphLaunch") {
    return Call(function, exec, CUstream{});
  }
  // "alloc 100" and "free 100" of graphs, in order.
  std::vector<std::string> Story(const testing::Log& log) {
    std::vector<std::string> story;
    for (const testing::Event& event : log.events)
      if (event.layer == log::LAYER_GRAPH && event.op <= log::OP_FREE_FAILED)
        story.push_back(testing::LowerWord(log::Op_Name(event.op), 3) + " " +
                        std::to_string(event.bytes));
    return story;
  }
};

}  // namespace memprof::recorder
