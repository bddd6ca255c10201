// The other process of tests that need two. Reads commands and answers each with one line, which is
// a CUresult unless noted otherwise.
#include <cuda.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

namespace {

CUdeviceptr g_last = 0;  // the address of the latest allocation
CUstream g_stream = nullptr;
CUevent g_event = nullptr;
CUmemoryPool g_pool = nullptr;
CUmemGenericAllocationHandle g_handle = 0;

template <class Object>
Object FromHex(const std::string& text) {
  Object object;
  std::memset(&object, 0, sizeof(object));
  auto* bytes = reinterpret_cast<unsigned char*>(&object);
  for (size_t i = 0; i < sizeof(object) && 2 * i + 1 < text.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  }
  return object;
}

void Print(CUresult result) { std::cout << static_cast<int>(result) << std::endl; }

void Handle(void* object, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    std::printf("%02x", static_cast<unsigned char*>(object)[i]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

using Input = std::istringstream;

void Memory(Input& in, const std::string& verb) {
  if (verb == "alloc") {
    size_t bytes = 0;
    in >> bytes;
    Print(cuMemAlloc(&g_last, bytes));
  } else if (verb == "free") {
    Print(cuMemFree(g_last));
  } else if (verb == "info") {
    size_t free = 0;
    size_t total = 0;
    cuMemGetInfo(&free, &total);
    std::cout << free << std::endl;
  } else if (verb == "fill") {
    unsigned value = 0;
    size_t bytes = 0;
    in >> value >> bytes;
    Print(cuMemsetD8(g_last, static_cast<unsigned char>(value), bytes));
  } else {  // read OFFSET: the byte there, or -1
    size_t offset = 0;
    in >> offset;
    unsigned char byte = 0;
    const CUresult result = cuMemcpyDtoH(&byte, g_last + offset, 1);
    std::cout << (result == CUDA_SUCCESS ? int{byte} : -1) << std::endl;
  }
}

void Ipc(Input& in, const std::string& verb) {
  std::string hex;
  if (verb == "ipc-get") {
    CUipcMemHandle handle = {};
    cuIpcGetMemHandle(&handle, g_last);
    Handle(&handle, sizeof(handle));
  } else if (verb == "ipc-open") {
    in >> hex;
    Print(cuIpcOpenMemHandle(&g_last, FromHex<CUipcMemHandle>(hex),
                             CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  } else if (verb == "ipc-close") {
    Print(cuIpcCloseMemHandle(g_last));
  } else if (verb == "event-open") {
    in >> hex;
    Print(cuIpcOpenEventHandle(&g_event, FromHex<CUipcEventHandle>(hex)));
  } else if (verb == "event-query") {
    Print(cuEventQuery(g_event));
  } else if (verb == "event-record") {
    Print(cuEventRecord(g_event, nullptr));
  } else if (verb == "event-stick") {  // records an event behind work that never ends
    CUresult result = cuLaunchHostFunc(
        g_stream,
        [](void*) {
          while (true) pause();
        },
        nullptr);
    if (result == CUDA_SUCCESS) result = cuEventRecord(g_event, g_stream);
    Print(result);
  } else {  // event-wait: enqueues a wait, and answers when it has ended
    CUresult result = cuStreamWaitEvent(g_stream, g_event, 0);
    if (result == CUDA_SUCCESS) result = cuStreamSynchronize(g_stream);
    Print(result);
  }
}

void Handles(Input& in, const std::string& verb) {
  if (verb == "pool-import") {
    int descriptor = -1;
    in >> descriptor;
    Print(cuMemPoolImportFromShareableHandle(
        &g_pool, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  } else if (verb == "pool-pointer") {
    std::string hex;
    in >> hex;
    auto data = FromHex<CUmemPoolPtrExportData>(hex);
    Print(cuMemPoolImportPointer(&g_last, g_pool, &data));
  } else if (verb == "vmm-import") {
    int descriptor = -1;
    in >> descriptor;
    Print(cuMemImportFromShareableHandle(&g_handle,
                                         reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  } else {  // vmm-map BYTES: the imported handle at a new address, readable and writable
    size_t bytes = 0;
    in >> bytes;
    CUmemAccessDesc access = {};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUresult result = cuMemAddressReserve(&g_last, bytes, 0, 0, 0);
    if (result == CUDA_SUCCESS) result = cuMemMap(g_last, bytes, 0, g_handle, 0);
    if (result == CUDA_SUCCESS) result = cuMemSetAccess(g_last, bytes, &access, 1);
    Print(result);
  }
}

}  // namespace

int main() {
  CUcontext context = nullptr;
  const CUresult ready = cuInit(0);
  if (ready != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) {
    std::cout << "no context" << std::endl;
    return 3;
  }
  cuCtxSetCurrent(context);
  cuStreamCreate(&g_stream, CU_STREAM_NON_BLOCKING);
  std::string line;
  while (std::getline(std::cin, line)) {
    Input in(line);
    std::string verb;
    in >> verb;
    if (verb.rfind("ipc", 0) == 0 || verb.rfind("event", 0) == 0) {
      Ipc(in, verb);
    } else if (verb.rfind("pool", 0) == 0 || verb.rfind("vmm", 0) == 0) {
      Handles(in, verb);
    } else {
      Memory(in, verb);
    }
  }
  return 0;
}
