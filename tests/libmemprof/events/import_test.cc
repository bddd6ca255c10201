// Hooks of memory imported from other owners.
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

class ImportHooks : public HooksTest {
 protected:
  // Events of imported memory in order: "alloc 640 kind 1 of 0x0", "free 640". Imported memory is
  // never in the totals.
  std::vector<std::string> Story() {
    EXPECT_EQ(Stats().live_bytes, 0u);
    std::vector<std::string> story;
    for (const Event& event : Finish().events) {
      if (event.layer != log::LAYER_IMPORTED) continue;
      std::string words = testing::LowerWord(log::Op_Name(event.op), 3);
      if (event.op == log::OP_ALLOC)
        words += " " + std::to_string(event.bytes) + " kind " + std::to_string(event.aux1) +
                 // Of IPC, it is the number of the handle.
                 (event.aux0 == 0 || event.aux1 == kImportIpc ? "" : " of another");
      story.push_back(words);
    }
    return story;
  }
  CUdeviceptr OpenIpc() {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(Call("cuIpcOpenMemHandle_v2", &pointer, CUipcMemHandle{}, 1u), CUDA_SUCCESS);
    return pointer;
  }
  CUexternalMemory ImportExternal(unsigned long long bytes) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.size = bytes;
    CUexternalMemory memory = nullptr;
    Call("cuImportExternalMemory", &memory,
         static_cast<const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*>(&description));
    return memory;
  }
};

TEST_F(ImportHooks, AHandleOpenedTwiceIsOneImport) {
  Start();
  const CUdeviceptr pointer = OpenIpc();
  driver_.next = pointer;
  EXPECT_EQ(OpenIpc(), pointer);
  Call("cuIpcCloseMemHandle", pointer);
  Call("cuIpcCloseMemHandle", pointer);
  Call("cuIpcCloseMemHandle", CUdeviceptr{0x123});  // opened before recording began
  EXPECT_THAT(Story(), ElementsAre("alloc 640 kind 1", "free", "free"));
}

TEST_F(ImportHooks, ACloseThatFailsLeavesItOpen) {
  Start();
  const CUdeviceptr pointer = OpenIpc();
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuIpcCloseMemHandle", pointer);
  Answer(CUDA_SUCCESS);
  Call("cuIpcCloseMemHandle", pointer);
  EXPECT_THAT(Story(), ElementsAre("alloc 640 kind 1", "free", "free_failed", "free"));
}

TEST_F(ImportHooks, AnAddressIsForgottenWithItsContext) {
  Start();
  CUcontext context = nullptr;
  Call("cuCtxCreate_v2", &context, 0u, 0);
  driver_.current = context;
  const CUdeviceptr pointer = OpenIpc();
  Call("cuCtxDestroy_v2", context);
  driver_.next = pointer;
  OpenIpc();
  EXPECT_THAT(Story(), ElementsAre("alloc 640 kind 1", "alloc 640 kind 1"));
}

TEST_F(ImportHooks, ExternalMemoryAndItsViews) {
  Start();
  const CUexternalMemory memory = ImportExternal(5000);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
  buffer.size = 3000;
  CUdeviceptr pointer = 0;
  Call("cuExternalMemoryGetMappedBuffer", &pointer, memory,
       static_cast<const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*>(&buffer));
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC image{};
  image.arrayDesc = {8, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  image.numLevels = 1;
  CUmipmappedArray array = nullptr;
  Call("cuExternalMemoryGetMappedMipmappedArray", &array, memory,
       static_cast<const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC*>(&image));
  Call("cuMemFree_v2", pointer);
  Call("cuMipmappedArrayDestroy", array);
  Call("cuDestroyExternalMemory", memory);
  EXPECT_THAT(Story(), ElementsAre("alloc 5000 kind 4", "alloc 3000 kind 5 of another",
                                   "alloc 128 kind 8 of another", "free", "free", "free"));
}

TEST_F(ImportHooks, AnArrayOfTheProgramsOwnIsNone) {
  Start();
  const CUexternalMemory memory = ImportExternal(5000);
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC image{};
  image.arrayDesc = {8, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  image.numLevels = 1;
  CUmipmappedArray array = nullptr;
  Call("cuExternalMemoryGetMappedMipmappedArray", &array, memory,
       static_cast<const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC*>(&image));
  Answer(CUDA_ERROR_DEINITIALIZED);
  Call("cuMipmappedArrayDestroy", array);
  Answer(CUDA_SUCCESS);
  Call("cuMipmappedArrayDestroy", array);
  driver_.next = reinterpret_cast<std::uint64_t>(array);
  CUmipmappedArray own = nullptr;
  Call("cuMipmappedArrayCreate", &own,
       static_cast<const CUDA_ARRAY3D_DESCRIPTOR*>(&image.arrayDesc), 1u);
  ASSERT_EQ(own, array);
  Call("cuMipmappedArrayDestroy", own);
  std::vector<log::Layer> layers;
  for (const Event& event : Finish().WithOp(log::OP_FREE)) layers.push_back(event.layer);
  EXPECT_THAT(layers, ElementsAre(log::LAYER_IMPORTED, log::LAYER_IMPORTED, log::LAYER_ARRAY));
}

TEST_F(ImportHooks, PoolsOfOtherProcessesAreNotSampled) {
  Start();
  CUmemoryPool pool = nullptr;
  Call("cuMemPoolImportFromShareableHandle", &pool, At(3), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
       0ull);
  CUmemPoolPtrExportData data{};
  CUdeviceptr pointer = 0;
  Call("cuMemPoolImportPointer", &pointer, pool, &data);
  EXPECT_EQ(memprof_step(1), MEMPROF_OK);
  Call("cuMemFreeAsync", pointer, kNoStream);
  Call("cuMemPoolDestroy", pool);
  const testing::Log log = Finish();
  EXPECT_THAT(log.WithOp(log::OP_POOL_SAMPLE), IsEmpty());
  EXPECT_EQ(log.WithOp(log::OP_POOL_CREATE).at(0).layer, log::LAYER_IMPORTED);
  EXPECT_EQ(log.WithOp(log::OP_POOL_DESTROY).at(0).layer, log::LAYER_IMPORTED);
  const Event import = log.WithOp(log::OP_ALLOC).at(0);
  EXPECT_EQ(import.layer, log::LAYER_IMPORTED);
  EXPECT_EQ(import.aux0, reinterpret_cast<std::uint64_t>(pool));
  EXPECT_EQ(import.aux1, +kImportPoolPointer);
  EXPECT_EQ(log.WithOp(log::OP_FREE).at(0).layer, log::LAYER_IMPORTED)
      << "recognised by its address";
}

TEST_F(ImportHooks, FailuresAreEventsToo) {
  Start();
  Answer(CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr pointer = 0;
  ImportExternal(5000);
  Call("cuIpcOpenMemHandle", &pointer, CUipcMemHandle{}, 1u);
  CUmemoryPool pool = nullptr;
  CUmemPoolPtrExportData data{};
  Call("cuMemPoolImportPointer", &pointer, pool, &data);
  Call("cuMemPoolImportFromShareableHandle", &pool, At(3), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
       0ull);
  CUgraphicsResource resource = nullptr;
  Call("cuGraphicsGLRegisterBuffer", &resource, 5u, 0u);
  const std::vector<Event> failed = Finish().WithOp(log::OP_ALLOC_FAILED);
  ASSERT_EQ(failed.size(), 5u);
  EXPECT_EQ(failed[0].bytes, 5000u);
  for (const Event& event : failed) EXPECT_EQ(event.result, CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace memprof::recorder
