// Dispatches a callback of CUPTI to the handler of its row in the table.
#include "cupti_hooks/src/callbacks.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <iterator>

#include "cupti_hooks/src/address_marks.h"
#include "cupti_hooks/src/callback_table.h"
#include "cupti_hooks/src/cupti_state.h"
#include "cupti_hooks/src/recorder.h"
#include "cupti_hooks/src/source.h"
#include "cupti_hooks/src/use_handlers.h"
#include "libmemprof/src/base/sys.h"

namespace memprof::cupti {
namespace {

#define MEMPROF_CUPTI_ROW(name, cbid, group, ...) {#name, cbid, Group::group, __VA_ARGS__},
constexpr CallbackEntry kCallbacks[] = {MEMPROF_CUPTI_CALLBACKS(MEMPROF_CUPTI_ROW)};
#undef MEMPROF_CUPTI_ROW
constexpr std::size_t kCallbackCount = std::size(kCallbacks);
static_assert(kCallbackCount <= kMaxCallbacks);

// Rows by callback id, plus one; 0 = not in the table. An id given twice does not compile.
constexpr std::size_t kMaxCbid = 1024;
constexpr std::array<std::uint16_t, kMaxCbid> kRows = [] {
  std::array<std::uint16_t, kMaxCbid> rows{};
  for (std::size_t i = 0; i < kCallbackCount; ++i) {
    if (rows[kCallbacks[i].cbid] != 0) std::abort();  // no constant expression: an error
    rows[kCallbacks[i].cbid] = static_cast<std::uint16_t>(i + 1);
  }
  return rows;
}();

std::atomic<Listening> g_listening{Listening::kNothing};

// Initial-exec, so that the first use in a thread allocates nothing: it may happen inside malloc.
__attribute__((tls_model("initial-exec"))) thread_local unsigned t_inside = 0;
__attribute__((tls_model("initial-exec"))) thread_local unsigned t_heartbeats = 0;
__attribute__((tls_model("initial-exec"))) thread_local bool t_await_heartbeat = false;
// True from the entry of a context call that was passed to the recorder until its exit or the next
// call.
__attribute__((tls_model("initial-exec"))) thread_local bool t_ends_or_makes_context = false;

void OnDriverCall(std::uint32_t cbid, const CUpti_CallbackData& data, Listening listening) {
  const CallbackEntry* entry = FindCallback(cbid);
  if (entry == nullptr) return;
  const bool exit = data.callbackSite == CUPTI_API_EXIT;
  if (data.functionParams == nullptr && entry->cbid != 17 && entry->group != Group::kHeartbeat) {
    return;  // every function in the table but cuCtxSynchronize has parameters
  }
  Call call{};
  call.entry = entry;
  call.exit = exit;
  call.params = data.functionParams;
  call.result =
      exit && data.functionReturnValue != nullptr
          ? static_cast<std::uint32_t>(*static_cast<const CUresult*>(data.functionReturnValue))
          : 0;
  call.symbol = data.symbolName;
  call.context = Number(data.context);
  t_ends_or_makes_context = false;
  if (listening != Listening::kUses) {
    t_ends_or_makes_context = !exit && entry->group == Group::kContext;
    ForwardToRecorder(call, data.correlationData);
  }
  if (entry->handler != nullptr) entry->handler(call);
}

}  // namespace

CallbackTable Callbacks() { return {std::begin(kCallbacks), std::end(kCallbacks)}; }

std::size_t CallbackIndex(const CallbackEntry* entry) {
  return static_cast<std::size_t>(entry - kCallbacks);
}

const CallbackEntry* FindCallback(std::uint32_t cbid) {
  if (cbid >= kMaxCbid || kRows[cbid] == 0) return nullptr;
  return &kCallbacks[kRows[cbid] - 1];
}

void SetListening(Listening listening) { g_listening.store(listening, std::memory_order_release); }
Listening CurrentListening() { return g_listening.load(std::memory_order_acquire); }

bool InsideContextCall() { return t_ends_or_makes_context; }

bool InsideSource() { return t_inside != 0; }
InsideSourceScope::InsideSourceScope() { ++t_inside; }
InsideSourceScope::~InsideSourceScope() { --t_inside; }

unsigned HeartbeatsSeen() { return t_heartbeats; }
void AwaitHeartbeat(bool awaited) { t_await_heartbeat = awaited; }
void NoteHeartbeat(const Call&) {}

void OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (data == nullptr) return;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && t_await_heartbeat) {
    const CallbackEntry* entry = FindCallback(cbid);
    if (entry != nullptr && entry->group == Group::kHeartbeat) ++t_heartbeats;
  }
  if (t_inside != 0) return;
  const Listening listening = CurrentListening();
  if (listening == Listening::kNothing) return;
  const InsideSourceScope inside;
  const recorder::SystemSection section;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    OnDriverCall(cbid, *static_cast<const CUpti_CallbackData*>(data), listening);
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    OnResource(cbid, data);
  } else if (domain == kDomainState && cbid == kStateFatalError) {
    const auto& state = *static_cast<const StateNotification*>(data);
    OnFatalError(static_cast<int>(state.result), state.message);
  }
}

}  // namespace memprof::cupti
