// Memory with other owners: of another process, of another interface, of OpenGL.
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "families.h"
#include "peer.h"

// From <cudaGL.h>, which would need OpenGL headers.
extern "C" {
CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource*, unsigned, unsigned);
CUresult cuGraphicsGLRegisterImage(CUgraphicsResource*, unsigned, unsigned, unsigned);
}

namespace {

// An answer of the second process.
struct Shared {
  std::int64_t result;
  CUipcMemHandle handle;
};

// Answers sizes with handles, until the first process ends.
void ExportMemory() {
  CALL(cuInit, 0);
  UsePrimary();
  for (std::uint64_t bytes = 0; Get(&bytes, sizeof bytes);) {
    Shared answer{};
    CUdeviceptr block = 0;
    answer.result = SYMBOL(cuMemAlloc_v2)(&block, bytes);
    if (answer.result == CUDA_SUCCESS)
      answer.result = SYMBOL(cuIpcGetMemHandle)(&answer.handle, block);
    Send(answer);
  }
}

CUdeviceptr Open(const CUipcMemHandle& handle, std::size_t bytes) {
  const auto open = PROC(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000);
  return TAKE(open, "imported", 0, bytes, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

void Close(CUdeviceptr memory, std::size_t bytes) {
  GIVE(PROC(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010), "imported", 0, bytes, memory);
}

Block TakeIpc(std::uint64_t bytes) {
  Send(bytes);
  const auto answer = Receive<Shared>();
  Check(static_cast<CUresult>(answer.result), "cuIpcGetMemHandle (second process)");
  const CUdeviceptr block = Open(answer.handle, bytes);
  return {bytes, [=] { Close(block, bytes); }};
}

void Ipc() {
  const CUdeviceptr closed = Allocate(3 * kPage), kept = Allocate(kPage);
  const auto get = PROC(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010);
  for (const CUdeviceptr memory : {closed, kept}) {
    CUipcMemHandle handle;
    MUST(get(&handle, memory));
    Expect("exported", "none", 0, memory, memory == kept ? kPage : 3 * kPage, get.name);
    Send(handle);
  }
  WaitForPeer();
  Free(closed, 3 * kPage);
}

void IpcPeer() {
  const auto first = Receive<CUipcMemHandle>(), second = Receive<CUipcMemHandle>();
  const CUdeviceptr memory = Open(first, 3 * kPage);
  CUdeviceptr again = 0, none = 0;
  const auto open = PROC(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000);
  MUST(open(&again, first, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  if (again != memory) throw std::runtime_error("another address");
  const auto old_open = SYMBOL_LIKE(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle");
  TAKE(old_open, "imported", 0, kPage, second, 1);
  MUST_FAIL(CUDA_ERROR_INVALID_HANDLE, open(&none, CUipcMemHandle{}, 1));
  Expect("alloc_failed", "imported", 0, 0, 0, "cuIpcOpenMemHandle_v2");
  Close(memory, 3 * kPage);
  MUST(PROC(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010)(memory));
}

void Exports() {
  const CUmemGenericAllocationHandle memory = Create(2 * kPage, 0, kFile);
  const CUmemGenericAllocationHandle kept = Create(kPage, 0, kFile);
  Send(memory, Exported(memory));
  Send(kept, Exported(kept));
  WaitForPeer();
  GIVE(SYMBOL(cuMemRelease), "vmm", 0, 2 * kPage, memory);
}

void ExportsPeer() {
  CUmemGenericAllocationHandle memory[2] = {};
  int files[2] = {-1, -1};
  for (int& file : files) Receive<CUmemGenericAllocationHandle>(&file);
  for (int i = 0; i < 2; ++i) {
    memory[i] = Imported(files[i]);
    Expect("alloc", "imported", 0, memory[i], 0, "cuMemImportFromShareableHandle");
  }
  const auto reserve = SYMBOL(cuMemAddressReserve);
  const auto range = TAKE(reserve, "vmm-address", 0, 2 * kPage, 2 * kPage, 0, 0, 0);
  ON("map", SYMBOL(cuMemMap), "vmm-address", 0, 2 * kPage, range, 2 * kPage, 0, memory[0], 0);
  MUST(SYMBOL(cuMemRelease)(memory[0]));
  MUST(SYMBOL(cuMemUnmap)(range, 2 * kPage));
  Expect("free", "imported", 0, memory[0], 0, "cuMemUnmap");
  Expect("unmap", "vmm-address", 0, range, 2 * kPage, "cuMemUnmap");
}

constexpr std::size_t kFromPool[] = {3000, 5000};

void Pool() {
  CUmemoryPool pool = NewPool(kFile);
  int file = -1;
  MUST(SYMBOL(cuMemPoolExportToShareableHandle)(&file, pool, kFile, 0));
  Send(0, file);
  const auto from = PROC(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020);
  for (const std::size_t bytes : kFromPool) {
    const auto memory = TAKE(from, "stream-ordered", 0, bytes, bytes, pool, nullptr);
    CUmemPoolPtrExportData data;
    MUST(PROC(cuMemPoolExportPointer, "cuMemPoolExportPointer", 11020)(&data, memory));
    Expect("exported", "none", 0, memory, bytes, "cuMemPoolExportPointer");
    Send(data);
  }
  WaitForPeer();
}

void PoolPeer() {
  int file = -1;
  Receive<int>(&file);
  const auto import =
      PROC(cuMemPoolImportFromShareableHandle, "cuMemPoolImportFromShareableHandle", 11020);
  void* const shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  CUmemoryPool pool = MAKE("pool_create", import, "imported", 0, 0, shared, kFile, 0);
  const auto open = PROC(cuMemPoolImportPointer, "cuMemPoolImportPointer", 11020);
  CUdeviceptr memory[2] = {};
  for (int i = 0; i < 2; ++i) {
    auto data = Receive<CUmemPoolPtrExportData>();
    memory[i] = TAKE(open, "imported", 0, kFromPool[i], pool, &data);
  }
  FreeAsync(memory[0], kFromPool[0], "imported");
}

// On a GPU the descriptor would have to come from Vulkan or another interface with its own driver;
// the stand-in accepts a file in memory.
CUexternalMemory Import(std::size_t bytes) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = memfd_create("external", MFD_CLOEXEC);
  description.size = bytes;
  if (ftruncate(description.handle.fd, static_cast<off_t>(bytes)) != 0)
    throw std::runtime_error("no file in memory");
  const auto import = PROC(cuImportExternalMemory, "cuImportExternalMemory", 10000);
  return TAKE(import, "imported", 0, bytes, &description);
}

CUdeviceptr View(CUexternalMemory object, std::size_t offset, std::size_t bytes) {
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
  part.offset = offset;
  part.size = bytes;
  const auto view = PROC(cuExternalMemoryGetMappedBuffer, "cuExternalMemoryGetMappedBuffer", 10000);
  return TAKE(view, "imported", 0, bytes, object, &part);
}

void Destroy(CUexternalMemory object, std::size_t bytes) {
  const auto destroy = PROC(cuDestroyExternalMemory, "cuDestroyExternalMemory", 10000);
  GIVE(destroy, "imported", 0, bytes, object);
}

Block TakeExternal(std::uint64_t bytes) {
  if (!IsStandIn())
    throw Skipped("nothing here exports memory to CUDA (that takes Vulkan or another interface)");
  CUexternalMemory object = Import(bytes);
  const CUdeviceptr view = View(object, 0, bytes);
  return {bytes, [=] {
            Free(view, bytes, "imported");
            Destroy(object, bytes);
          }};
}

// One object is closed with its view; the other one stays open with its view.
void Unclosed() {
  CUexternalMemory object = Import(3 * kPage);
  const CUdeviceptr view = View(object, kPage, kPage);
  View(Import(3 * kPage), kPage, kPage);
  Free(view, kPage, "imported");
  Destroy(object, 3 * kPage);
}

// A buffer mapped twice, a texture mapped once, and one that stays registered.
void Graphics() {
  constexpr std::size_t kBuffer = std::size_t{3} << 16, kImage = std::size_t{100} * 100 * 4;
  constexpr unsigned kTexture2D = 0x0de1;
  const auto add_buffer = PROC(cuGraphicsGLRegisterBuffer, "cuGraphicsGLRegisterBuffer", 3000);
  const auto add_image = PROC(cuGraphicsGLRegisterImage, "cuGraphicsGLRegisterImage", 3000);
  CUgraphicsResource buffer = TAKE(add_buffer, "imported", 0, 0, 3, 0);
  CUgraphicsResource image = TAKE(add_image, "imported", 0, 0, 100, kTexture2D, 0);
  TAKE(add_buffer, "imported", 0, 0, 5, 0);
  const auto map = PROC(cuGraphicsMapResources, "cuGraphicsMapResources", 7000);
  CUgraphicsResource both[] = {buffer, image};
  MUST(map(2, both, nullptr));
  Expect("map", "imported", 0, buffer, 0, "cuGraphicsMapResources");
  Expect("map", "imported", 0, image, 0, "cuGraphicsMapResources");
  const auto pointer_of =
      PROC(cuGraphicsResourceGetMappedPointer_v2, "cuGraphicsResourceGetMappedPointer", 3020);
  std::size_t bytes = 0;
  CUdeviceptr view = TAKE(pointer_of, "imported", 0, kBuffer, &bytes, buffer);
  MUST(pointer_of(&view, &bytes, buffer));  // the same view
  const auto array_of =
      PROC(cuGraphicsSubResourceGetMappedArray, "cuGraphicsSubResourceGetMappedArray", 3000);
  CUarray array = TAKE(array_of, "imported", 0, kImage, image, 0, 0);
  const auto unmap = PROC(cuGraphicsUnmapResources, "cuGraphicsUnmapResources", 7000);
  MUST(unmap(2, both, nullptr));
  Expect("free", "imported", 0, view, kBuffer, "cuGraphicsUnmapResources");
  Expect("unmap", "imported", 0, buffer, 0, "cuGraphicsUnmapResources");
  Expect("free", "imported", 0, array, kImage, "cuGraphicsUnmapResources");
  Expect("unmap", "imported", 0, image, 0, "cuGraphicsUnmapResources");
  const auto own_map = PROC_PER_THREAD(cuGraphicsMapResources, "cuGraphicsMapResources", 7000);
  MUST(own_map(1, both, nullptr));
  Expect("map", "imported", 0, buffer, 0, "cuGraphicsMapResources_ptsz");
  const auto own_unmap =
      PROC_PER_THREAD(cuGraphicsUnmapResources, "cuGraphicsUnmapResources", 7000);
  MUST(own_unmap(1, both, nullptr));
  Expect("unmap", "imported", 0, buffer, 0, "cuGraphicsUnmapResources_ptsz");
  const auto remove = PROC(cuGraphicsUnregisterResource, "cuGraphicsUnregisterResource", 3000);
  for (CUgraphicsResource gone : both) GIVE(remove, "imported", 0, 0, gone);
}

constexpr Family kFamilies[] = {{.name = "ipc", .take = TakeIpc, .peer = ExportMemory},
                                {.name = "external", .take = TakeExternal}};
constexpr Scenario kScenarios[] = {{"ipc-recorded", Ipc, IpcPeer},
                                   {"exports", Exports, ExportsPeer},
                                   {"pool-exports", Pool, PoolPeer},
                                   {"unclosed", Unclosed},
                                   {"graphics", Graphics}};

}  // namespace

const Group kShared{kFamilies, kScenarios};
