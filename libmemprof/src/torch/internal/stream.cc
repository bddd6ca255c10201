// Looks up the two functions once, in whichever library of the process defines them.
#include "libmemprof/src/torch/internal/stream.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>

#include "libmemprof/src/loader/foreign_call.h"
#include "libmemprof/src/loader/next_symbol.h"
#include "libmemprof/src/recording/thread.h"
#include "libmemprof/src/torch/layer.h"

namespace memprof::recorder {
namespace {

// c10::cuda::CUDAStream: a c10::Stream, which is returned in two registers.
struct TorchStream {
  TorchDevice device;
  std::int64_t id;  // 0 = the default stream
};
static_assert(sizeof(TorchStream) == 16);

using CurrentStream = TorchStream (*)(std::int8_t device);
using HandleOfStream = void* (*)(const TorchStream* stream);

constexpr const char* kCurrentStream = "_ZN3c104cuda20getCurrentCUDAStreamEa";
constexpr const char* kHandleOfStream = "_ZNK3c104cuda10CUDAStream6streamEv";

enum class Functions : std::uint32_t { kNotSearched, kMissing, kFound };
std::atomic<Functions> g_functions{Functions::kNotSearched};
std::atomic<CurrentStream> g_current{nullptr};
std::atomic<HandleOfStream> g_handle{nullptr};

struct Search {
  CurrentStream current = nullptr;
  HandleOfStream handle = nullptr;
};

// Both must be from one library.
int FindInModule(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* dynamic =
        reinterpret_cast<const void*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    search->current =
        reinterpret_cast<CurrentStream>(DefinitionIn(info->dlpi_addr, dynamic, kCurrentStream));
    if (search->current == nullptr) continue;
    search->handle =
        reinterpret_cast<HandleOfStream>(DefinitionIn(info->dlpi_addr, dynamic, kHandleOfStream));
  }
  return search->current != nullptr && search->handle != nullptr ? 1 : 0;
}

__attribute__((noinline, cold)) Functions FindFunctions() {
  SystemSection section;
  LoaderSection loader(LoaderFlagHere());
  Search search;
  Functions found = Functions::kMissing;
  if (CanCatch() && dl_iterate_phdr(FindInModule, &search) == 1) {
    g_current.store(search.current, std::memory_order_relaxed);
    g_handle.store(search.handle, std::memory_order_relaxed);
    found = Functions::kFound;
  }
  g_functions.store(found, std::memory_order_release);
  return found;
}

// PyTorch throws if the driver is in a state of error. The program did not make this call and must
// not see the exception. Another call would only fail again.
template <typename Result, typename Argument>
bool Ask(Result (*function)(Argument), Argument argument, Result* answer) {
  SystemSection section;
  if (CallForeign(function, argument, answer)) return true;
  g_functions.store(Functions::kMissing, std::memory_order_release);
  return false;
}

}  // namespace

std::uint64_t TorchStreamHere(std::int32_t device) {
  Functions functions = g_functions.load(std::memory_order_acquire);
  if (functions == Functions::kNotSearched) functions = FindFunctions();
  if (functions != Functions::kFound || device < 0 || device >= kMaxTorchDevices) return 0;
  const auto index = static_cast<std::int8_t>(device);
  TorchStream stream;
  if (!Ask(g_current.load(std::memory_order_relaxed), index, &stream)) return 0;
  if (stream.device.type != kTorchCuda || stream.device.index != index) {
    // Its signature differs from that of the known versions.
    g_functions.store(Functions::kMissing, std::memory_order_release);
    return 0;
  }
  if (stream.id == 0) return 0;
  // The handle of a stream never changes, and each query costs PyTorch two calls of the runtime.
  // Ids are small numbers or addresses, and each device has the same small ones.
  LastTorchStream& last = CurrentThread().state->torch_stream;
  const std::uint64_t id_and_device =
      static_cast<std::uint64_t>(stream.id) ^ static_cast<std::uint64_t>(device) << 56;
  if (last.id_and_device != id_and_device) {
    void* handle = nullptr;
    if (!Ask(g_handle.load(std::memory_order_relaxed), static_cast<const TorchStream*>(&stream),
             &handle))
      return 0;
    // In steps, because a handler may leave by a jump.
    last.id_and_device = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    last.handle = reinterpret_cast<std::uint64_t>(handle);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    last.id_and_device = id_and_device;
  }
  return last.handle;
}

}  // namespace memprof::recorder
