// Memory accounting under random calls for all kinds of memory at once: free and used memory always
// add up to the capacity, and the share of each kind matches a simple model.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

constexpr uint64_t kCapacity = 160 * kMiB;
SIMCUDA_CONFIGURE("memory=160MiB,overhead=6MiB");

constexpr uint64_t Up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

template <class Value>
Value TakeAny(std::vector<Value>* values, std::mt19937* random) {
  const size_t index = (*random)() % values->size();
  const Value value = (*values)[index];
  values->erase(values->begin() + static_cast<std::ptrdiff_t>(index));
  return value;
}

struct Block {
  CUdeviceptr address;
  uint64_t bytes;
};

// A physical handle of the VMM calls. It ends when it is neither referenced nor mapped.
struct Physical {
  CUmemGenericAllocationHandle handle = 0;
  uint64_t bytes = 0;
  bool held = true;
  CUdeviceptr mapped = 0;
};

struct GraphBlock {
  CUgraph graph;
  CUgraphExec exec;
  CUdeviceptr address;
  bool live;
};

constexpr char kGlobals[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 small[1000];
.visible .global .align 4 .b8 large[3000000];
)";

// Calls of all kinds, with a list of what each kind holds.
class Traffic {
 public:
  Traffic(CUcontext context, unsigned seed) : context_(context), random_(seed) {
    Good(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  }

  void Step() {
    static constexpr void (Traffic::*kSteps[])() = {&Traffic::Linear,
                                                    &Traffic::Linear,
                                                    &Traffic::FreeLinear,
                                                    &Traffic::Pitched,
                                                    &Traffic::Array,
                                                    &Traffic::FreeArray,
                                                    &Traffic::Ordered,
                                                    &Traffic::FreeOrdered,
                                                    &Traffic::Trim,
                                                    &Traffic::Synchronise,
                                                    &Traffic::Create,
                                                    &Traffic::Release,
                                                    &Traffic::Map,
                                                    &Traffic::Unmap,
                                                    &Traffic::Managed,
                                                    &Traffic::FreeManaged,
                                                    &Traffic::Prefetch,
                                                    &Traffic::MakeGraph,
                                                    &Traffic::Launch,
                                                    &Traffic::FreeGraphBlock,
                                                    &Traffic::TrimGraphs,
                                                    &Traffic::ContextComesOrGoes,
                                                    &Traffic::ModuleComesOrGoes,
                                                    &Traffic::Pinned};
    (this->*kSteps[random_() % std::size(kSteps)])();
  }

  // Invariants that hold after every step.
  void Check() {
    const simcuda_memory memory = Memory();
    size_t free = 0;
    size_t total = 0;
    Good(cuMemGetInfo(&free, &total));
    EXPECT_EQ(total, kCapacity);
    EXPECT_EQ(free, memory.free_bytes);
    EXPECT_EQ(memory.context_bytes, (1 + contexts_.size()) * 6 * kMiB);
    CheckPaged(memory.linear_bytes, linear_, GlobalBytes());
    uint64_t arrays = 0;
    for (const auto& [array, bytes] : arrays_) arrays += bytes;
    EXPECT_GE(memory.array_bytes, arrays);
    EXPECT_EQ(memory.array_bytes == 0, arrays_.empty());
    uint64_t physical = 0;
    for (const Physical& one : physical_) physical += one.bytes;
    EXPECT_EQ(memory.vmm_bytes, physical);
    EXPECT_LE(memory.managed_bytes, Granted(managed_));
    EXPECT_GE(memory.pool_reserved_bytes, Sum(ordered_));
    EXPECT_EQ(memory.pool_reserved_bytes, PoolValue(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    cuuint64_t graphs = 0;
    Good(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &graphs));
    EXPECT_EQ(memory.graph_bytes, graphs);
    EXPECT_EQ(memory.live_allocations, Live());
    for (const uint64_t part :
         {memory.free_bytes, memory.linear_bytes, memory.array_bytes, memory.managed_bytes,
          memory.pool_reserved_bytes, memory.vmm_bytes, memory.graph_bytes}) {
      EXPECT_EQ(part % (2 * kMiB), 0u);
    }
  }

  void FreeAll() {
    while (!linear_.empty()) FreeLinear();
    while (!arrays_.empty()) FreeArray();
    while (!ordered_.empty()) FreeOrdered();
    while (!managed_.empty()) FreeManaged();
    for (Physical& one : physical_) {
      if (one.mapped != 0) UnmapOne(one);
      if (one.held) Good(cuMemRelease(one.handle));
    }
    physical_.clear();
    for (GraphBlock& one : graphs_) {
      if (one.live) Good(cuMemFreeAsync(one.address, stream_));
      Good(cuGraphExecDestroy(one.exec));
      Good(cuGraphDestroy(one.graph));
    }
    graphs_.clear();
    while (!contexts_.empty()) Good(cuCtxDestroy(TakeAny(&contexts_, &random_)));
    while (!modules_.empty()) Good(cuModuleUnload(TakeAny(&modules_, &random_)));
    for (void* pinned : pinned_) Good(cuMemFreeHost(pinned));
    pinned_.clear();
    Good(cuStreamSynchronize(stream_));
    TrimGraphs();
    Trim();
    Check();
    EXPECT_EQ(Memory().free_bytes, kCapacity - 6 * kMiB);
  }

  int refused() const { return refused_; }

 private:
  static void Good(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }
  // Returns whether the allocation succeeded. A refused allocation must not have taken any memory.
  bool Made(CUresult result, uint64_t needs) {
    if (result == CUDA_SUCCESS) return true;
    EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_LT(Memory().free_bytes, Up(needs, 2 * kMiB)) << "refused although there was space";
    ++refused_;
    return false;
  }
  static uint64_t Sum(const std::vector<Block>& blocks) {
    return std::accumulate(blocks.begin(), blocks.end(), uint64_t{0},
                           [](uint64_t sum, const Block& one) { return sum + one.bytes; });
  }
  static uint64_t Granted(const std::vector<Block>& blocks) {
    return std::accumulate(
        blocks.begin(), blocks.end(), uint64_t{0},
        [](uint64_t sum, const Block& one) { return sum + Up(one.bytes, 2 * kMiB); });
  }
  // Large blocks use whole pages alone. Small blocks share pages: at least as many as they fill, at
  // most one for each block.
  static void CheckPaged(uint64_t taken, const std::vector<Block>& blocks, uint64_t globals) {
    uint64_t large = 0;
    uint64_t small = 0;
    uint64_t count = 0;
    for (const Block& one : blocks) {
      if (one.bytes >= 2 * kMiB) {
        large += Up(one.bytes, 2 * kMiB);
      } else {
        small += Up(one.bytes, 512);
        ++count;
      }
    }
    EXPECT_GE(taken, large + Up(small, 2 * kMiB));
    EXPECT_LE(taken, large + count * 2 * kMiB + globals);
  }
  // Each loaded module holds two variables: one that shares a page and one of two pages.
  uint64_t GlobalBytes() const { return modules_.size() * 6 * kMiB; }
  cuuint64_t PoolValue(CUmemPool_attribute attribute) {
    CUmemoryPool pool = nullptr;
    cuuint64_t value = 0;
    Good(cuDeviceGetDefaultMemPool(&pool, 0));
    Good(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
  }
  uint64_t Live() const {
    const auto mapped = std::count_if(physical_.begin(), physical_.end(),
                                      [](const Physical& one) { return one.mapped != 0; });
    const auto graphs = std::count_if(graphs_.begin(), graphs_.end(),
                                      [](const GraphBlock& one) { return one.live; });
    return linear_.size() + ordered_.size() + managed_.size() + static_cast<uint64_t>(mapped) +
           static_cast<uint64_t>(graphs);
  }
  uint64_t Size() {
    const bool large = random_() % 3 == 0;
    return 1 + random_() % (large ? 24 * kMiB : 300 * kKiB);
  }

  void Linear() {
    const uint64_t bytes = Size();
    CUdeviceptr address = 0;
    if (Made(cuMemAlloc(&address, bytes), bytes)) linear_.push_back({address, bytes});
  }
  void Pitched() {
    CUdeviceptr address = 0;
    size_t pitch = 0;
    const size_t width = 1 + random_() % 5000;
    const size_t height = 1 + random_() % 400;
    const uint64_t bytes = Up(width, 512) * height;
    if (!Made(cuMemAllocPitch(&address, &pitch, width, height, 4), bytes)) return;
    EXPECT_EQ(pitch, Up(width, 512));
    linear_.push_back({address, bytes});
  }
  void FreeLinear() {
    if (!linear_.empty()) Good(cuMemFree(TakeAny(&linear_, &random_).address));
  }
  void Array() {
    CUDA_ARRAY_DESCRIPTOR descriptor = {};
    descriptor.Width = 1 + random_() % 1500;
    descriptor.Height = 1 + random_() % 1500;
    descriptor.Format = CU_AD_FORMAT_FLOAT;
    descriptor.NumChannels = 1;
    const uint64_t bytes = descriptor.Width * descriptor.Height * 4;
    CUarray array = nullptr;
    const CUresult result = cuArrayCreate(&array, &descriptor);
    if (result == CUDA_SUCCESS) {
      arrays_.emplace_back(array, bytes);
    } else {
      EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
      ++refused_;
    }
  }
  void FreeArray() {
    if (!arrays_.empty()) Good(cuArrayDestroy(TakeAny(&arrays_, &random_).first));
  }
  void Ordered() {
    const uint64_t bytes = Size();
    CUdeviceptr address = 0;
    if (Made(cuMemAllocAsync(&address, bytes, stream_), bytes)) {
      ordered_.push_back({address, bytes});
    }
  }
  void FreeOrdered() {
    if (ordered_.empty()) return;
    const CUdeviceptr address = TakeAny(&ordered_, &random_).address;
    Good(random_() % 2 == 0 ? cuMemFreeAsync(address, stream_) : cuMemFree(address));
  }
  void Trim() {
    CUmemoryPool pool = nullptr;
    Good(cuDeviceGetDefaultMemPool(&pool, 0));
    Good(cuMemPoolTrimTo(pool, 0));
  }
  void Synchronise() { Good(cuStreamSynchronize(stream_)); }
  void Create() {
    Physical made;
    made.bytes = (1 + random_() % 6) * 2 * kMiB;
    if (Made(cuMemCreate(&made.handle, made.bytes, &properties_, 0), made.bytes)) {
      physical_.push_back(made);
    }
  }
  void Release() {
    ChangePhysical([](const Physical& one) { return one.held; },
                   [](Physical& one) {
                     Good(cuMemRelease(one.handle));
                     one.held = false;
                   });
  }
  void Map() {
    ChangePhysical([](const Physical& one) { return one.held && one.mapped == 0; },
                   [](Physical& one) {
                     Good(cuMemAddressReserve(&one.mapped, one.bytes, 0, 0, 0));
                     Good(cuMemMap(one.mapped, one.bytes, 0, one.handle, 0));
                   });
  }
  void Unmap() {
    ChangePhysical([](const Physical& one) { return one.mapped != 0; },
                   [](Physical& one) { UnmapOne(one); });
  }
  static void UnmapOne(Physical& one) {
    Good(cuMemUnmap(one.mapped, one.bytes));
    Good(cuMemAddressFree(one.mapped, one.bytes));
    one.mapped = 0;
  }
  void ChangePhysical(const std::function<bool(const Physical&)>& may,
                      const std::function<void(Physical&)>& change) {
    const auto found = std::find_if(physical_.begin(), physical_.end(), may);
    if (found != physical_.end()) change(*found);
    std::erase_if(physical_, [](const Physical& one) { return !one.held && one.mapped == 0; });
  }
  void Managed() {
    const uint64_t bytes = Size();
    CUdeviceptr address = 0;
    Good(cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL));
    managed_.push_back({address, bytes});
    if (managed_.size() > 12) FreeManaged();
  }
  void FreeManaged() {
    if (!managed_.empty()) Good(cuMemFree(TakeAny(&managed_, &random_).address));
  }
  void Prefetch() {
    if (managed_.empty()) return;
    const Block& one = managed_[random_() % managed_.size()];
    const bool there = random_() % 2 == 0;
    const CUmemLocation place = {there ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST,
                                 {0}};
    Good(cuMemPrefetchAsync(one.address, one.bytes, place, 0, stream_));
  }
  void MakeGraph() {
    if (graphs_.size() >= 6) return;
    GraphBlock made = {};
    Good(cuGraphCreate(&made.graph, 0));
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    params.bytesize = Size();
    CUgraphNode node = nullptr;
    Good(cuGraphAddMemAllocNode(&node, made.graph, nullptr, 0, &params));
    Good(cuGraphInstantiate(&made.exec, made.graph, 0));
    made.address = params.dptr;
    graphs_.push_back(made);
  }
  void Launch() {
    for (GraphBlock& one : graphs_) {
      const CUresult result = cuGraphLaunch(one.exec, stream_);
      if (one.live) {
        EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE);
      } else if (result == CUDA_SUCCESS) {
        one.live = true;
        return;
      } else {
        EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
        ++refused_;
      }
    }
  }
  void FreeGraphBlock() {
    for (GraphBlock& one : graphs_) {
      if (!one.live) continue;
      Good(random_() % 2 == 0 ? cuMemFreeAsync(one.address, stream_) : cuMemFree(one.address));
      one.live = false;
      return;
    }
  }
  void TrimGraphs() { Good(cuDeviceGraphMemTrim(0)); }
  void ContextComesOrGoes() {
    if (contexts_.size() >= 3) {
      Good(cuCtxDestroy(TakeAny(&contexts_, &random_)));
      return;
    }
    CUcontext made = nullptr;
#if CUDA_VERSION >= 13000
    const CUresult result = cuCtxCreate(&made, nullptr, 0, 0);
#else
    const CUresult result = cuCtxCreate(&made, 0, 0);
#endif
    if (!Made(result, 6 * kMiB)) return;
    contexts_.push_back(made);
    Good(cuCtxPopCurrent(nullptr));
    CUcontext current = nullptr;
    Good(cuCtxGetCurrent(&current));
    EXPECT_EQ(current, context_);
  }
  void ModuleComesOrGoes() {
    if (modules_.size() >= 3) {
      Good(cuModuleUnload(TakeAny(&modules_, &random_)));
      return;
    }
    CUmodule module = nullptr;
    Good(cuModuleLoadData(&module, kGlobals));
    modules_.push_back(module);
    for (const char* name : {"small", "large"}) {
      CUdeviceptr address = 0;
      size_t bytes = 0;
      const CUresult result = cuModuleGetGlobal(&address, &bytes, module, name);
      EXPECT_TRUE(result == CUDA_SUCCESS || Memory().free_bytes < 4 * kMiB);
    }
  }
  void Pinned() {
    void* pinned = nullptr;
    Good(cuMemHostAlloc(&pinned, Size(), 0));
    pinned_.push_back(pinned);
    if (pinned_.size() > 5) Good(cuMemFreeHost(TakeAny(&pinned_, &random_)));
  }

  CUcontext context_;
  std::mt19937 random_;
  CUstream stream_ = nullptr;
  CUmemAllocationProp properties_ = {};
  std::vector<Block> linear_;
  std::vector<Block> ordered_;
  std::vector<Block> managed_;
  std::vector<std::pair<CUarray, uint64_t>> arrays_;
  std::vector<Physical> physical_;
  std::vector<GraphBlock> graphs_;
  std::vector<CUcontext> contexts_;
  std::vector<CUmodule> modules_;
  std::vector<void*> pinned_;
  int refused_ = 0;
};

class AccountsTest : public DriverTest, public testing::WithParamInterface<unsigned> {};

TEST_P(AccountsTest, EverythingAddsUpAfterEveryCall) {
  Traffic traffic(context_, GetParam());
  for (int step = 0; step < 2000; ++step) {
    traffic.Step();
    traffic.Check();
    ASSERT_FALSE(HasFailure()) << "after step " << step;
  }
  // The device was full at times; otherwise the difficult cases were not covered.
  EXPECT_GT(traffic.refused(), 0);
  traffic.FreeAll();
}

INSTANTIATE_TEST_SUITE_P(Seeds, AccountsTest, testing::Range(1u, 7u));

}  // namespace
}  // namespace memprof::simcuda
