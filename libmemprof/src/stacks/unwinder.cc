// Our own walk, then libunwind, then libgcc.
#include "libmemprof/src/stacks/unwinder.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unwind.h>

#include <atomic>
#include <type_traits>

namespace memprof::recorder {
namespace {

using BacktraceFunction = int (*)(void**, int);
using FlushFunction = void (*)(void*, std::uintptr_t, std::uintptr_t);
using GccBacktraceFunction = _Unwind_Reason_Code (*)(_Unwind_Trace_Fn, void*);
using GccGetIpFunction = _Unwind_Ptr (*)(struct _Unwind_Context*);

std::atomic<BacktraceFunction> g_backtrace{nullptr};
FlushFunction g_flush = nullptr;
void* g_address_space = nullptr;
GccBacktraceFunction g_gcc_backtrace = nullptr;
GccGetIpFunction g_gcc_get_ip = nullptr;

CodeRange g_own_code;
FrameRules g_rules;
// A destructor would run at exit, while other threads still record.
static_assert(std::is_trivially_destructible_v<FrameRules>);
std::atomic<bool> g_has_rules{false};

// The maximum of the recorder's own frames above a hook. Later walks allow for the largest number
// seen so far, so that they walk few unneeded frames.
constexpr int kMaxOwnFrames = 24;
std::atomic<int> g_own_frames{4};

int FindOwnRange(dl_phdr_info* info, std::size_t, void*) {
  const auto here = reinterpret_cast<std::uintptr_t>(&FindOwnRange);
  std::uintptr_t begin = ~std::uintptr_t{0}, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t first = info->dlpi_addr + segment.p_vaddr;
    if (first < begin) begin = first;
    if (first + segment.p_memsz > end) end = first + segment.p_memsz;
  }
  if (here < begin || here >= end) return 0;
  if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
    g_own_code = {begin, end};
  }
  return 1;
}

struct GccWalk {
  void** frames;
  int count;
  int room;
};

_Unwind_Reason_Code GccStep(struct _Unwind_Context* context, void* data) {
  auto* walk = static_cast<GccWalk*>(data);
  if (walk->count == walk->room) return _URC_END_OF_STACK;
  walk->frames[walk->count++] = reinterpret_cast<void*>(g_gcc_get_ip(context));
  return _URC_NO_REASON;
}

int GccBacktrace(void** frames, int room) {
  GccWalk walk{frames, 0, room};
  g_gcc_backtrace(GccStep, &walk);
  return walk.count;
}

}  // namespace

FrameRules* TheFrameRules() {
  return g_has_rules.load(std::memory_order_acquire) ? &g_rules : nullptr;
}

CodeRange OwnCode() { return g_own_code; }

bool LoadUnwinder() {
  if (g_backtrace.load(std::memory_order_acquire) != nullptr) return true;
  dl_iterate_phdr(FindOwnRange, nullptr);
  if (g_rules.Create()) g_has_rules.store(true, std::memory_order_release);
  if (void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL)) {
    void* function = dlsym(library, "unw_backtrace");
    void* flush = dlsym(library, arch::kUnwinderFlush);
    void* space = dlsym(library, arch::kUnwinderSpace);
    if (function != nullptr) {
      if (flush != nullptr && space != nullptr) {
        g_flush = reinterpret_cast<FlushFunction>(flush);
        g_address_space = *static_cast<void**>(space);
      }
      g_backtrace.store(reinterpret_cast<BacktraceFunction>(function), std::memory_order_release);
      return true;
    }
  }
  if (void* library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL)) {
    g_gcc_backtrace = reinterpret_cast<GccBacktraceFunction>(dlsym(library, "_Unwind_Backtrace"));
    g_gcc_get_ip = reinterpret_cast<GccGetIpFunction>(dlsym(library, "_Unwind_GetIP"));
    if (g_gcc_backtrace != nullptr && g_gcc_get_ip != nullptr) {
      g_backtrace.store(GccBacktrace, std::memory_order_release);
      return true;
    }
  }
  return false;
}

__attribute__((noinline)) int CaptureStack(void** frames, int depth, bool* truncated) {
  *truncated = false;
  const BacktraceFunction backtrace = g_backtrace.load(std::memory_order_acquire);
  if (backtrace == nullptr) return 0;
  if (depth > kMaxStackDepth) depth = kMaxStackDepth;
  void* raw[kMaxStackDepth + kMaxOwnFrames + 1];
  // One more than requested, to detect a deeper stack.
  const int own_frames = g_own_frames.load(std::memory_order_relaxed);
  int count = backtrace(raw, depth + own_frames + 1);
  for (int i = 0; i < count; ++i)
    raw[i] = reinterpret_cast<void*>(arch::CodeAddress(reinterpret_cast<std::uintptr_t>(raw[i])));
  int first = 0;
  while (first < count && first < kMaxOwnFrames) {
    if (!g_own_code.Contains(reinterpret_cast<std::uintptr_t>(raw[first]))) break;
    ++first;
  }
  if (first > own_frames) g_own_frames.store(first, std::memory_order_relaxed);
  while (count > first && raw[count - 1] == nullptr) --count;
  int kept = count - first;
  if (kept > depth) {
    kept = depth;
    *truncated = true;
  }
  if (kept > 0) memcpy(frames, raw + first, static_cast<std::size_t>(kept) * sizeof(void*));
  return kept > 0 ? kept : 0;
}

void ForgetUnloadedCode() {
  if (FrameRules* rules = TheFrameRules()) rules->Clear();
  if (g_flush != nullptr) g_flush(g_address_space, 0, 0);
}

}  // namespace memprof::recorder
