// A guest that marks ranges with NVTX 3, of every kind, and allocates in them. Prints what NVTX
// returned from pushes, which must be the same with and without a tool.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <thread>

namespace {

void Allocate(std::size_t bytes) {
  void* pointer = nullptr;
  if (cudaMalloc(&pointer, bytes) != cudaSuccess) std::printf("failed\n");
  cudaFree(pointer);
}

nvtxEventAttributes_t Named(const char* text) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

}  // namespace

int main() {
  nvtxRangePushA("before CUDA");  // nothing records yet
  Allocate(1);
  nvtxRangePop();  // of a range that nobody saw: counted

  std::printf("push %d\n", nvtxRangePushA("outer"));
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("io");
  const nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxEventAttributes_t attributes = Named("");
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered;
  std::printf("push %d\n", nvtxDomainRangePushEx(domain, &attributes));
  Allocate(2);
  // Domains have stacks of their own: the outer range of the default one ends first.
  std::printf("pop %d\n", nvtxRangePop());
  std::printf("pop %d\n", nvtxDomainRangePop(domain));

  nvtxRangePushW(L"wide \u00e9\u20ac");
  attributes = Named("inner");
  nvtxRangePushEx(&attributes);
  Allocate(3);
  nvtxRangePop();
  nvtxRangePop();

  // Started here, ended there; and overlapping.
  const nvtxRangeId_t first = nvtxRangeStartA("first");
  attributes = Named("second");
  const nvtxRangeId_t second = nvtxDomainRangeStartEx(domain, &attributes);
  std::thread([&] { nvtxRangeEnd(first); }).join();
  Allocate(4);
  nvtxDomainRangeEnd(domain, second);
  attributes = Named(nullptr);
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
  return 0;
}
