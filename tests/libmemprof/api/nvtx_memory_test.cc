// Regions of NVTX's extension for memory, through the functions that an injection fills in.
#include <gmock/gmock.h>

#include <iterator>
#include <string>
#include <vector>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/api/internal/nvtx_abi.h"
#include "tests/libmemprof/recording/recording.h"

extern "C" int InitializeInjectionNvtxExtension(memprof::nvtx::ExtensionModule* module);

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;

class NvtxMemory : public RecordingTest {
 protected:
  void SetUp() override {
    nvtx::ExtensionSegment segment{0, std::size(functions_), functions_};
    nvtx::ExtensionModule module{};
    module.bytes = sizeof module;
    module.module = nvtx::kModuleMemory;
    module.compatibility = nvtx::kMemoryCompatibility;
    module.segment_count = 1;
    module.segments = &segment;
    ASSERT_EQ(InitializeInjectionNvtxExtension(&module), 1);
    ASSERT_EQ(memprof_start(), MEMPROF_OK);
  }
  void RegisterHeap(const void* address, std::size_t bytes, const char* name) {
    const nvtx::VirtualRange range{bytes, address};
    nvtx::HeapDescription heap{};
    heap.header = Header<nvtx::HeapDescription>();
    heap.type = nvtx::kVirtualAddress;
    heap.range = &range;
    heap.range_bytes = sizeof range;
    heap.message_type = nvtx::kMessageAscii;
    heap.message = name;
    Call(nvtx::kHeapRegister, heap);
  }
  void UnregisterHeap(const void* address) {
    reinterpret_cast<void (*)(const void*, const void*)>(functions_[nvtx::kHeapUnregister])(
        nullptr, address);
  }
  void Register(const void* heap, const void* address, std::size_t bytes) {
    const nvtx::VirtualRange range{bytes, address};
    Call(nvtx::kRegionsRegister, nvtx::RegionsRegister{Header<nvtx::RegionsRegister>(), heap, 1,
                                                       sizeof range, &range, nullptr});
  }
  void Resize(const void* address, std::size_t bytes) {
    const nvtx::VirtualRange range{bytes, address};
    Call(nvtx::kRegionsResize,
         nvtx::RegionsResize{Header<nvtx::RegionsResize>(), 1, sizeof range, &range});
  }
  void Unregister(const void* address) {
    Call(nvtx::kRegionsUnregister,
         nvtx::RegionsUnregister{Header<nvtx::RegionsUnregister>(), 1, sizeof address, &address});
  }
  void Name(const void* address, const char* name) {
    const nvtx::RegionName named{0, nvtx::kMessageAscii, address, name};
    Call(nvtx::kRegionsName,
         nvtx::RegionsName{Header<nvtx::RegionsName>(), 1, sizeof named, &named});
  }
  // The events in words.
  std::vector<std::string> InWords() {
    const testing::Log log = Finish();
    std::vector<std::string> words;
    for (const testing::Event& event : log.events) {
      std::string what = event.layer == log::LAYER_SEGMENT ? "segment"
                         : event.layer == log::LAYER_BLOCK ? "block"
                                                           : "tensor";
      if (event.op == log::OP_ALLOC && event.layer == log::LAYER_TENSOR)
        what = log.Text(log.tensors.at(event.label).name());
      if (event.op == log::OP_STEP)
        words.emplace_back("step");
      else
        words.push_back(event.op == log::OP_FREE ? what + " ends"
                                                 : what + " " + std::to_string(event.bytes));
    }
    return words;
  }

  template <typename Batch>
  static nvtx::MemoryHeader Header() {
    return {nvtx::kMemoryCompatibility, sizeof(Batch), nvtx::kVirtualAddress};
  }
  template <typename Batch>
  void Call(nvtx::Memory function, const Batch& batch) {
    reinterpret_cast<void (*)(const void*, const Batch*)>(functions_[function])(nullptr, &batch);
  }

 private:
  std::intptr_t functions_[nvtx::kRegionsName + 1] = {};
};

TEST_F(NvtxMemory, ARegionThatIsRegisteredTwiceKeepsItsNameUntilTheLastUnregistration) {
  Register(nullptr, At(0x7000), 4096);
  Register(nullptr, At(0x7000), 4096);
  Name(At(0x7000), "first");
  Name(At(0x7000), "second");
  Unregister(At(0x7000));
  memprof_step(1);
  Unregister(At(0x7000));
  EXPECT_THAT(InWords(),
              ElementsAre("first 4096", "tensor ends", "second 4096", "step", "tensor ends"));
}

TEST_F(NvtxMemory, ARegionThatIsRegisteredTwiceHasTheSizeToWhichItWasResized) {
  Register(At(0x1000), At(0x7000), 4096);
  Register(At(0x1000), At(0x7000), 4096);
  Name(At(0x7000), "small");
  Resize(At(0x7000), 8192);
  Name(At(0x7000), "large");
  Unregister(At(0x7000));
  memprof_step(1);
  Unregister(At(0x7000));
  EXPECT_THAT(InWords(),
              ElementsAre("block 4096", "small 4096", "tensor ends", "block ends", "block 8192",
                          "large 8192", "step", "tensor ends", "block ends"));
}

// A newer NVTX may append to its elements.
TEST_F(NvtxMemory, ElementsMayBeLarger) {
  struct Newer {
    nvtx::VirtualRange range;
    std::uint64_t appended;
  };
  char heap[8192];
  RegisterHeap(heap, sizeof heap, "heap");
  const Newer ranges[] = {{{512, heap}, 7}, {{1024, heap + 1024}, 8}};
  Call(nvtx::kRegionsRegister, nvtx::RegionsRegister{Header<nvtx::RegionsRegister>(), heap, 2,
                                                     sizeof(Newer), ranges, nullptr});
  std::vector<std::uint64_t> blocks;
  for (const testing::Event& event : Finish().WithOp(log::OP_ALLOC))
    if (event.layer == log::LAYER_BLOCK) blocks.push_back(event.bytes);
  EXPECT_THAT(blocks, ElementsAre(512u, 1024u));
}

TEST_F(NvtxMemory, AnEmptyNameNamesNothing) {
  Register(nullptr, At(0x7000), 4096);
  Name(At(0x7000), "");
  Unregister(At(0x7000));
  EXPECT_THAT(InWords(), ElementsAre());
}

TEST_F(NvtxMemory, TheNameOfAHeapEndsWithTheHeap) {
  RegisterHeap(At(0x1000), 1 << 20, "arena");
  UnregisterHeap(At(0x1000));
  EXPECT_THAT(InWords(),
              ElementsAre("segment 1048576", "arena 1048576", "tensor ends", "segment ends"));
}

TEST_F(NvtxMemory, AHeapWithoutANameEndsNoTensor) {
  RegisterHeap(At(0x1000), 1 << 20, "");
  UnregisterHeap(At(0x1000));
  EXPECT_THAT(InWords(), ElementsAre("segment 1048576", "segment ends"));
}

TEST_F(NvtxMemory, AHeapThatIsRegisteredAgainWithoutItsNameKeepsIt) {
  RegisterHeap(At(0x1000), 1 << 20, "arena");
  RegisterHeap(At(0x1000), 1 << 20, "");
  UnregisterHeap(At(0x1000));
  UnregisterHeap(At(0x1000));  // ends nothing again
  EXPECT_THAT(InWords(), ElementsAre("segment 1048576", "arena 1048576", "segment 1048576",
                                     "tensor ends", "segment ends"));
}

TEST_F(NvtxMemory, AFullTableStillCountsTheRegistrationsOfARegion) {
  for (std::size_t i = 0; i < 4096; ++i) Register(nullptr, At(0x10'0000 + i * 16), 16);
  Register(At(0x1000), At(0x7000), 4096);  // has no entry
  Register(nullptr, At(0x10'0000), 16);    // again
  Name(At(0x10'0000), "first");
  Unregister(At(0x10'0000));
  memprof_step(1);
  Unregister(At(0x10'0000));
  EXPECT_THAT(InWords(), ElementsAre("block 4096", "first 16", "step", "tensor ends"));
}

}  // namespace
}  // namespace memprof::recorder
