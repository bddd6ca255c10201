// Every call that would allocate, move or share memory leaves an event when it fails, and has no
// other effect.
#include <functional>

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using Handle = CUmemGenericAllocationHandle;
using testing::Event;

struct FailingCall {
  const char* function;
  log::Layer layer;
  std::uint64_t bytes;  // requested bytes
  std::function<CUresult(void* wrapper)> make;
};

template <typename... Arguments>
std::function<CUresult(void*)> With(Arguments... arguments) {
  return [=](void* wrapper) {
    return reinterpret_cast<CUresult (*)(Arguments...)>(wrapper)(arguments...);
  };
}

// Outputs and list arguments of the calls.
CUdeviceptr g_out, g_addresses[] = {0x1000, 0x2000};
std::size_t g_size, g_sizes[] = {100, 20}, g_firsts[] = {0};
CUmemLocation g_places[] = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}};
CUmemGenericAllocationHandle g_handle;
void* g_object;
CUmodule g_module;
CUgraphicsResource g_resource;
CUarray g_array;
CUmipmappedArray g_mipmap;
CUcontext g_context;
CUmemoryPool g_pool;
CUmemPoolPtrExportData g_data;
char g_frame[256];
const unsigned char kImage[] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 84, 0, 0, 0, 0, 0, 0, 0};

std::vector<FailingCall> Calls() {
  const CUstream stream = nullptr;
  const CUmemLocation device{CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  const auto image = static_cast<const void*>(kImage);
  const auto resource = static_cast<CUgraphicsResource>(At(5));
  constexpr auto kAdvice = CU_MEM_ADVISE_SET_READ_MOSTLY;
  constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const auto managed = log::LAYER_MANAGED;
  const auto imported = log::LAYER_IMPORTED;
  const auto multicast = log::LAYER_MULTICAST;
  const auto module = log::LAYER_MODULE;
  const auto no_layer = log::LAYER_UNSPECIFIED;
  const CUdeviceptr at = 0x1000;
  const std::size_t some = 640, zero = 0;
  return {
      {"cuMemPrefetchAsync", managed, 640, With(at, some, 0, stream)},
      {"cuMemPrefetchAsync_v2_ptsz", managed, 640, With(at, some, device, 0u, stream)},
      {"cuMemAdvise", managed, 640, With(at, some, kAdvice, 0)},
      {"cuMemAdvise_v2", managed, 640, With(at, some, kAdvice, device)},
      {"cuMemPrefetchBatchAsync", managed, 120,
       With(g_addresses, g_sizes, std::size_t{2}, g_places, g_firsts, std::size_t{1}, 0ull,
            stream)},
      {"cuMemDiscardBatchAsync", managed, 120,
       With(g_addresses, g_sizes, std::size_t{2}, 0ull, stream)},
      {"cuMemDiscardAndPrefetchBatchAsync_ptsz", managed, 120,
       With(g_addresses, g_sizes, std::size_t{2}, g_places, g_firsts, std::size_t{1}, 0ull,
            stream)},
      {"cuMulticastCreate", multicast, 0, With(&g_handle, static_cast<const void*>(nullptr))},
      {"cuMulticastAddDevice", multicast, 0, With(Handle{1}, 0)},
      {"cuMulticastBindMem", multicast, 640, With(Handle{1}, zero, Handle{2}, zero, some, 0ull)},
      {"cuMulticastBindAddr", multicast, 640, With(Handle{1}, zero, at, some, 0ull)},
      {"cuModuleLoad", module, 0, With(&g_module, static_cast<const char*>("none.cubin"))},
      {"cuModuleLoadData", module, 100, With(&g_module, image)},
      {"cuLibraryLoadData", module, 100,
       With(&g_object, image, static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr), 0u,
            static_cast<void*>(nullptr), static_cast<void**>(nullptr), 0u)},
      {"cuMemImportFromShareableHandle", imported, 0, With(&g_handle, At(3), kFile)},
      {"cuIpcOpenMemHandle_v2", imported, 0, With(&g_out, CUipcMemHandle{}, 1u)},
      {"cuMemPoolImportFromShareableHandle", imported, 0, With(&g_pool, At(3), kFile, 0ull)},
      {"cuMemPoolImportPointer", imported, 0,
       With(&g_out, static_cast<CUmemoryPool>(At(9)), &g_data)},
      {"cuGraphicsGLRegisterImage", imported, 0, With(&g_resource, 1u, 2u, 0u)},
      {"cuEGLStreamConsumerAcquireFrame", imported, 0,
       With(At(1), &g_resource, static_cast<CUstream*>(nullptr), 100u)},
      {"cuGraphicsMapResources", imported, 0, With(1u, &g_resource, stream)},
      {"cuGraphicsResourceGetMappedPointer_v2", imported, 0, With(&g_out, &g_size, resource)},
      {"cuGraphicsSubResourceGetMappedArray", imported, 0, With(&g_array, resource, 0u, 0u)},
      {"cuGraphicsResourceGetMappedMipmappedArray", imported, 0, With(&g_mipmap, resource)},
      {"cuGraphicsResourceGetMappedEglFrame", imported, 0,
       With(static_cast<void*>(g_frame), resource, 0u, 0u)},
      {"cuMemMap", log::LAYER_VMM_ADDRESS, 640, With(at, some, zero, Handle{9}, 0ull)},
      {"cuMemAddressReserve", log::LAYER_VMM_ADDRESS, 640,
       With(&g_out, some, zero, CUdeviceptr{0}, 0ull)},
      {"cuMemPoolCreate", log::LAYER_STREAM_ORDERED, 0,
       With(&g_pool, static_cast<const CUmemPoolProps*>(nullptr))},
      {"cuCtxCreate_v2", no_layer, 0, With(&g_context, 0u, 0)},
      {"cuDevicePrimaryCtxRetain", no_layer, 0, With(&g_context, 0)},
      {"cuGreenCtxCreate", no_layer, 0, With(&g_object, At(1), 0, 1u)},
  };
}

class FailureHooks : public HooksTest, public ::testing::WithParamInterface<FailingCall> {};

TEST_P(FailureHooks, RecordsTheRequestedBytesAndHowMuchWasFree) {
  const FailingCall& call = GetParam();
  Start();
  Answer(CUDA_ERROR_OUT_OF_MEMORY);
  // some stream is capturing: the failed call must not disturb the capture
  driver_.capturing = true;
  EXPECT_EQ(call.make(Wrapper(call.function)), CUDA_ERROR_OUT_OF_MEMORY);
  const testing::Log log = Finish();
  const std::vector<Event> failed = log.WithOp(log::OP_ALLOC_FAILED);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].layer, call.layer);
  EXPECT_EQ(failed[0].bytes, call.bytes);
  EXPECT_EQ(failed[0].result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(failed[0].aux0, driver_.free_bytes);
  EXPECT_EQ(failed[0].aux1, driver_.total_bytes);
  EXPECT_EQ(failed[0].address, 0u);
  EXPECT_EQ(log.Text(failed[0].api), call.function);
  EXPECT_EQ(failed[0].stack != 0, kTestStacks);
  for (const Event& event : log.events)
    EXPECT_TRUE(event.op == log::OP_ALLOC_FAILED || event.op == log::OP_MEMORY_INFO)
        << log::Op_Name(event.op);
}

INSTANTIATE_TEST_SUITE_P(All, FailureHooks, ::testing::ValuesIn(Calls()),
                         [](const auto& call) { return std::string(call.param.function); });

class OtherFailures : public HooksTest {};

// A refused image may be anything, so it must not be read.
TEST_F(OtherFailures, ARefusedImageIsNotRead) {
  Start();
  Answer(CUDA_ERROR_INVALID_IMAGE);
  Call("cuModuleLoadData", &g_module, static_cast<const void*>(At(8)));
  EXPECT_EQ(Finish().WithOp(log::OP_ALLOC_FAILED).at(0).bytes, 0u);
}

TEST_F(OtherFailures, AnUnloadThatFailsIsRecorded) {
  Start();
  Call("cuModuleLoadData", &g_module, static_cast<const void*>(kImage));
  Answer(CUDA_ERROR_INVALID_HANDLE);
  Call("cuModuleUnload", g_module);
  const testing::Log log = Finish();
  const Event failed = log.WithOp(log::OP_FREE_FAILED).at(0);
  EXPECT_EQ(failed.layer, log::LAYER_MODULE);
  EXPECT_EQ(failed.address, reinterpret_cast<std::uint64_t>(g_module));
  EXPECT_TRUE(log.WithOp(log::OP_MODULE_UNLOAD).empty());
}

// A query whether memory can be shared, or exists, allocates nothing.
TEST_F(OtherFailures, QuestionsAreNoFailures) {
  Start();
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemRetainAllocationHandle", &g_handle, At(0x1000));
  Call("cuMemExportToShareableHandle", static_cast<void*>(&g_handle), Handle{1},
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ull);
  CUipcMemHandle handle;
  Call("cuIpcGetMemHandle", &handle, CUdeviceptr{1});
  Call("cuMemPoolExportPointer", &g_data, CUdeviceptr{1});
  Call("cuModuleGetGlobal_v2", &g_out, &g_size, g_module, static_cast<const char*>("x"));
  EXPECT_TRUE(Finish().WithOp(log::OP_ALLOC_FAILED).empty());
}

}  // namespace
}  // namespace memprof::recorder
