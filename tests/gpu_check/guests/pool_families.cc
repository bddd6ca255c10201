// Stream-ordered memory of the default pool and of a created pool, and memory nodes of graphs.
#include "driver.h"
#include "families.h"

namespace memprof::gpu_check {
namespace {

class StreamOrdered : public Family {
 public:
  void GiveBack() override {
    for (const CUdeviceptr block : blocks_) CALL(cuMemFreeAsync, block, nullptr);
    blocks_.clear();
    CALL(cuCtxSynchronize);
    CALL(cuMemPoolTrimTo, pool_, 0);
  }
  std::string Figures() override {
    cuuint64_t reserved = 0, used = 0;
    CALL(cuMemPoolGetAttribute, pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
    CALL(cuMemPoolGetAttribute, pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
    return "\"pool_reserved\":" + std::to_string(reserved) +
           ",\"pool_used\":" + std::to_string(used);
  }

 protected:
  CUmemoryPool pool_ = nullptr;
  std::vector<CUdeviceptr> blocks_;
};

class DefaultPool : public StreamOrdered {
  void Prepare() override { CALL(cuDeviceGetDefaultMemPool, &pool_, 0); }
  std::uint64_t Take(std::uint64_t bytes) override {
    CUdeviceptr block = 0;
    CALL(cuMemAllocAsync, &block, bytes, nullptr);
    blocks_.push_back(block);
    return bytes;
  }
};

// The functions of programs that are compiled for per-thread default streams.
class PerThreadStream : public StreamOrdered {
  void Prepare() override {
    CALL(cuDeviceGetDefaultMemPool, &pool_, 0);
    allocate_ = Find<decltype(&cuMemAllocAsync)>("cuMemAllocAsync_ptsz");
    from_pool_ = Find<decltype(&cuMemAllocFromPoolAsync)>("cuMemAllocFromPoolAsync_ptsz");
    free_ = Find<decltype(&cuMemFreeAsync)>("cuMemFreeAsync_ptsz");
  }
  std::uint64_t Take(std::uint64_t bytes) override {
    CUdeviceptr block = 0;
    if (blocks_.size() % 2 == 0)
      Check(allocate_(&block, bytes, nullptr), "cuMemAllocAsync_ptsz");
    else
      Check(from_pool_(&block, bytes, pool_, nullptr), "cuMemAllocFromPoolAsync_ptsz");
    blocks_.push_back(block);
    return bytes;
  }
  void GiveBack() override {
    for (const CUdeviceptr block : blocks_) Check(free_(block, nullptr), "cuMemFreeAsync_ptsz");
    blocks_.clear();
    StreamOrdered::GiveBack();
  }
  decltype(&cuMemAllocAsync) allocate_ = nullptr;
  decltype(&cuMemAllocFromPoolAsync) from_pool_ = nullptr;
  decltype(&cuMemFreeAsync) free_ = nullptr;
};

// Keeps its memory until it is trimmed.
class OwnPool : public StreamOrdered {
  void Prepare() override {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CALL(cuMemPoolCreate, &pool_, &properties);
    cuuint64_t threshold = ~cuuint64_t{0};
    CALL(cuMemPoolSetAttribute, pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
  }
  std::uint64_t Take(std::uint64_t bytes) override {
    CUdeviceptr block = 0;
    CALL(cuMemAllocFromPoolAsync, &block, bytes, pool_, nullptr);
    blocks_.push_back(block);
    return bytes;
  }
};

// One graph for each block: its launch allocates the memory, which stays until it is freed and
// trimmed.
class GraphNode : public Family {
 public:
  void Prepare() override { CALL(cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING); }
  std::uint64_t Take(std::uint64_t bytes) override {
    Graph made = Make(bytes);
    CALL(cuGraphInstantiateWithFlags, &made.ready, made.graph, 0);
    CALL(cuGraphLaunch, made.ready, stream_);
    CALL(cuStreamSynchronize, stream_);
    graphs_.push_back(made);
    return bytes;
  }
  void GiveBack() override {
    for (const Graph& graph : graphs_) CALL(cuMemFreeAsync, graph.block, stream_);
    CALL(cuStreamSynchronize, stream_);
    for (const Graph& graph : graphs_) {
      CALL(cuGraphExecDestroy, graph.ready);
      CALL(cuGraphDestroy, graph.graph);
    }
    graphs_.clear();
    CALL(cuDeviceGraphMemTrim, 0);
  }
  std::string Figures() override {
    cuuint64_t reserved = 0, used = 0;
    CALL(cuDeviceGetGraphMemAttribute, 0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved);
    CALL(cuDeviceGetGraphMemAttribute, 0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used);
    return "\"graph_reserved\":" + std::to_string(reserved) +
           ",\"graph_used\":" + std::to_string(used);
  }

 protected:
  struct Graph {
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    CUdeviceptr block = 0;
  };
  virtual Graph Make(std::uint64_t bytes) {
    CUDA_MEM_ALLOC_NODE_PARAMS node_parameters{};
    node_parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    node_parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    node_parameters.bytesize = bytes;
    Graph made;
    CUgraphNode node = nullptr;
    CALL(cuGraphCreate, &made.graph, 0);
    CALL(cuGraphAddMemAllocNode, &node, made.graph, nullptr, 0, &node_parameters);
    made.block = node_parameters.dptr;
    return made;
  }
  CUstream stream_ = nullptr;

 private:
  std::vector<Graph> graphs_;
};

// The same with a stream capture: the call allocates nothing, the graph does.
class GraphCapture : public GraphNode {
  Graph Make(std::uint64_t bytes) override {
    Graph made;
    CALL(cuStreamBeginCapture_v2, stream_, CU_STREAM_CAPTURE_MODE_RELAXED);
    CALL(cuMemAllocAsync, &made.block, bytes, stream_);
    CALL(cuStreamEndCapture, stream_, &made.graph);
    return made;
  }
};

}  // namespace

std::unique_ptr<Family> MakePoolFamily(const std::string& name) {
  if (name == "stream-ordered") return std::make_unique<DefaultPool>();
  if (name == "pool") return std::make_unique<OwnPool>();
  if (name == "per-thread-stream") return std::make_unique<PerThreadStream>();
  if (name == "graph") return std::make_unique<GraphNode>();
  if (name == "graph-captured") return std::make_unique<GraphCapture>();
  return nullptr;
}

}  // namespace memprof::gpu_check
