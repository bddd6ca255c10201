// Records NVTX ranges as ranges of the log. NVTX is compiled into each library that uses it. At its
// first call it loads the library that NVTX_INJECTION64_PATH names (the preload constructor has set
// that to this library), which fills in a table of functions.
//
// A range of the log is a push and a pop of a thread. In NVTX every domain has a stack of its own,
// and ranges may also be started and ended anywhere: aux0 of the event is the domain (0 = the
// default one), aux1 the number of a started range (0 = pushed).
#include "libmemprof/src/api/internal/nvtx_abi.h"
#include "libmemprof/src/api/internal/nvtx_text.h"
#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/lifecycle/lifecycle.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"

namespace memprof::recorder {
namespace {

using nvtx::EventAttributes;

constinit NvtxNames g_domains(&g_process_locks.nvtx_domains);
std::atomic<std::uint64_t> g_last_range{0};

// The domain that ranges go to, and whether they are recorded.
struct Place {
  const void* domain;
  std::uint64_t started = 0;
};

template <typename Append>
void Begin(Place place, Append append) {
  if (!WantMarks()) return;
  EntryGuard guard;
  if (!guard.outermost()) return;
  NvtxText text;
  if (place.domain != nullptr) {
    g_domains.Append(place.domain, &text);
    if (text.size() > 0) text.Append(": ");
  }
  append(&text);
  ring::RingEvent event{};
  event.op = kOpRangePush;
  event.label = TheRecorder()->definitions()->InternString(text.data(), text.size());
  event.aux0 = reinterpret_cast<std::uint64_t>(place.domain);
  event.aux1 = place.started;
  RecordEvent(guard.slot(), &event, false);
}

void End(Place place) {
  if (!Recording()) return;
  EntryGuard guard;
  if (!guard.outermost()) return;
  ring::RingEvent event{};
  event.op = kOpRangePop;
  event.aux0 = reinterpret_cast<std::uint64_t>(place.domain);
  event.aux1 = place.started;
  RecordEvent(guard.slot(), &event, false);
}

template <typename Char>
auto Plain(const Char* text) {
  return [text](NvtxText* out) {
    if (text != nullptr) out->Append(text);
  };
}
auto Message(const EventAttributes* attributes) {
  return [attributes](NvtxText* out) {
    constexpr std::size_t kMinBytes = offsetof(EventAttributes, message) + sizeof(void*);
    if (attributes != nullptr && attributes->bytes >= kMinBytes)
      out->AppendMessage(attributes->message_type, attributes->message);
  };
}

template <typename Append>
int Push(const void* domain, Append append) {
  Begin({domain}, append);
  return nvtx::kNoTracking;
}
int Pop(const void* domain) {
  End({domain});
  return nvtx::kNoTracking;
}
template <typename Append>
std::uint64_t Start(const void* domain, Append append) {
  const std::uint64_t range = g_last_range.fetch_add(1, std::memory_order_relaxed) + 1;
  Begin({domain, range}, append);
  return range;
}

int PushEx(const EventAttributes* attributes) { return Push(nullptr, Message(attributes)); }
int PushA(const char* text) { return Push(nullptr, Plain(text)); }
int PushW(const wchar_t* text) { return Push(nullptr, Plain(text)); }
int PopDefault() { return Pop(nullptr); }
std::uint64_t StartEx(const EventAttributes* attributes) {
  return Start(nullptr, Message(attributes));
}
std::uint64_t StartA(const char* text) { return Start(nullptr, Plain(text)); }
std::uint64_t StartW(const wchar_t* text) { return Start(nullptr, Plain(text)); }
void EndRange(std::uint64_t range) { End({nullptr, range}); }

int DomainPush(const void* domain, const EventAttributes* attributes) {
  return Push(domain, Message(attributes));
}
std::uint64_t DomainStart(const void* domain, const EventAttributes* attributes) {
  return Start(domain, Message(attributes));
}
void DomainEnd(const void* domain, std::uint64_t range) { End({domain, range}); }

void* RegisterA(const void*, const char* text) { return g_nvtx_strings.Add(text); }
void* RegisterW(const void*, const wchar_t* text) { return g_nvtx_strings.Add(text); }
void* CreateA(const char* text) { return g_domains.Add(text); }
void* CreateW(const wchar_t* text) { return g_domains.Add(text); }

struct Entry {
  unsigned index;
  nvtx::Function function;
};
template <typename F>
Entry Use(unsigned index, F* function) {
  return {index, reinterpret_cast<nvtx::Function>(function)};
}

template <std::size_t kCount>
void Fill(const nvtx::CallbacksTable& callbacks, int module, const Entry (&entries)[kCount]) {
  nvtx::FunctionTable table = nullptr;
  unsigned count = 0;
  if (callbacks.get_module_functions(module, &table, &count) != 1 || table == nullptr) return;
  for (const Entry& entry : entries)
    if (entry.index < count && table[entry.index] != nullptr) *table[entry.index] = entry.function;
}

}  // namespace
}  // namespace memprof::recorder

// Called once for each library that contains NVTX. 1 = it may call the tool from now on.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    memprof::nvtx::GetExportTable get_table) {
  using namespace memprof::recorder;
  using namespace memprof::nvtx;
  if (get_table == nullptr) return 0;
  RegisterHandlers();  // names are stored from here on, whether anything is recorded or not
  const auto* callbacks = static_cast<const CallbacksTable*>(get_table(kCallbacksTable));
  if (callbacks == nullptr || callbacks->bytes < sizeof *callbacks ||
      callbacks->get_module_functions == nullptr)
    return 0;
  Fill(*callbacks, kModuleCore,
       {Use(kRangePushEx, PushEx), Use(kRangePushA, PushA), Use(kRangePushW, PushW),
        Use(kRangePop, PopDefault), Use(kRangeStartEx, StartEx), Use(kRangeStartA, StartA),
        Use(kRangeStartW, StartW), Use(kRangeEnd, EndRange)});
  Fill(*callbacks, kModuleCore2,
       {Use(kDomainRangePushEx, DomainPush), Use(kDomainRangePop, Pop),
        Use(kDomainRangeStartEx, DomainStart), Use(kDomainRangeEnd, DomainEnd),
        Use(kDomainRegisterStringA, RegisterA), Use(kDomainRegisterStringW, RegisterW),
        Use(kDomainCreateA, CreateA), Use(kDomainCreateW, CreateW)});
  return 1;
}
