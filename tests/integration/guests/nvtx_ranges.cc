// A guest that marks ranges with NVTX 3, of every kind, and allocates in them. Prints what NVTX
// returned from pushes, which must be the same with and without a tool.
//
// With the argument "fork": forks while threads register and push; each child does so too. Prints
// how many children did not end normally.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

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

void PushRegistered(nvtxDomainHandle_t domain, int number) {
  nvtxEventAttributes_t attributes = Named("");
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(
      domain, (std::to_string(number % 50) + std::string(900, 'r')).c_str());
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxDomainRangePop(domain);
}

int Fork() {
  Allocate(1);
  const nvtxDomainHandle_t domain = nvtxDomainCreateA(std::string(900, 'd').c_str());
  std::atomic<bool> stop{false};
  std::vector<std::thread> pushing;
  for (int t = 0; t < 2; ++t)
    pushing.emplace_back([&] {
      for (int i = 0; !stop; ++i) PushRegistered(domain, i);
    });
  int hung = 0;
  for (int i = 0; i < 150; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);  // ends it if it waits forever
      PushRegistered(domain, i);
      Allocate(2);  // its own recording: ranges are recorded in the child too
      PushRegistered(domain, i);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 5;
    hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    if (hung > 0) break;
  }
  stop = true;
  for (std::thread& thread : pushing) thread.join();
  std::printf("hung %d\n", hung);
  return 0;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return Fork();
  nvtxRangePushA("before CUDA");  // nothing is recorded yet
  Allocate(1);
  nvtxRangePop();  // of a range that was not recorded: counted

  std::printf("push %d\n", nvtxRangePushA("outer"));
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("io");
  const nvtxStringHandle_t registered = nvtxDomainRegisterStringA(domain, "registered");
  nvtxEventAttributes_t attributes = Named("");
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered;
  std::printf("push %d\n", nvtxDomainRangePushEx(domain, &attributes));
  Allocate(2);
  // Each domain has its own stack: the outer range of the default domain ends first.
  std::printf("pop %d\n", nvtxRangePop());
  std::printf("pop %d\n", nvtxDomainRangePop(domain));

  nvtxRangePushW(L"wide \u00e9\u20ac");
  attributes = Named("inner");
  nvtxRangePushEx(&attributes);
  Allocate(3);
  nvtxRangePop();
  nvtxRangePop();

  // Started here and ended elsewhere; overlapping ranges.
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
