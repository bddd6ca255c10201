// Records NVTX ranges as ranges of the log. NVTX is compiled into each library that uses it. At its
// first call it loads the library that NVTX_INJECTION64_PATH names (the preload constructor has set
// that to this library), which fills in a table of functions.
//
// A range of the log is a push and a pop of a thread. In NVTX every domain has a stack of its own,
// and ranges may also be started and ended anywhere: aux0 of the event is the domain (0 = the
// default one), aux1 the number of a started range (0 = pushed).
#include <string.h>

#include "libmemprof/src/api/internal/nvtx_abi.h"
#include "libmemprof/src/api/internal/nvtx_memory.h"
#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/text.h"
#include "libmemprof/src/lifecycle/lifecycle.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"

namespace memprof::recorder {
namespace {

using nvtx::EventAttributes;

// A name on the stack, cut where it is long.
class Text {
 public:
  void Append(const char* text, std::size_t length) {
    if (length > sizeof data_ - size_) length = sizeof data_ - size_;
    memcpy(data_ + size_, text, length);
    size_ += length;
  }
  void Append(const char* text) { Append(text, strlen(text)); }
  void Append(const wchar_t* text) {
    for (; *text != 0; ++text) {
      char bytes[4];
      Append(bytes, EncodeUtf8(static_cast<std::uint32_t>(*text), bytes));
    }
  }
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  char data_[1024];
  std::size_t size_ = 0;
};

// Names of domains and registered strings. They are never removed, because NVTX keeps the handles,
// which are numbers from 1. Names beyond the limit are lost. No destructor: NVTX may call after it.
class Names {
 public:
  using Lock = Mutex<LockRank::kNvtxNames>;
  explicit constexpr Names(Lock* mutex) : mutex_(*mutex) {}
  template <typename Char>
  void* Add(const Char* name) {
    if (name == nullptr) return nullptr;
    Text text;
    text.Append(name);
    LockGuard lock(mutex_);
    if (memory_ == nullptr)
      memory_ = static_cast<char*>(MapMemory(kMaxBytes, Need::kTable, InChild::kKept));
    if (memory_ == nullptr || count_ == kMax || used_ + text.size() + 1 > kMaxBytes) return nullptr;
    offsets_[count_] = static_cast<std::uint32_t>(used_);
    memcpy(memory_ + used_, text.data(), text.size());
    used_ += text.size() + 1;
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(++count_));
  }
  void Append(const void* handle, Text* out) {
    LockGuard lock(mutex_);
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    if (number != 0 && number <= count_) out->Append(memory_ + offsets_[number - 1]);
  }

 private:
  static constexpr std::uint32_t kMax = 1u << 14;
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
  Lock& mutex_;
  char* memory_ = nullptr;
  std::size_t used_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t offsets_[kMax] = {};
};

constinit Names g_strings(&g_process_locks.nvtx_strings);
constinit Names g_domains(&g_process_locks.nvtx_domains);
std::atomic<std::uint64_t> g_last_range{0};

void AppendMessage(const EventAttributes* attributes, Text* out) {
  constexpr std::size_t kMinBytes = offsetof(EventAttributes, message) + sizeof(void*);
  if (attributes == nullptr || attributes->bytes < kMinBytes) return;
  if (attributes->message_type == nvtx::kMessageRegistered) {
    g_strings.Append(attributes->message.registered, out);
  } else if (attributes->message.ascii == nullptr) {
    return;
  } else if (attributes->message_type == nvtx::kMessageAscii) {
    out->Append(attributes->message.ascii);
  } else if (attributes->message_type == nvtx::kMessageUnicode) {
    out->Append(attributes->message.unicode);
  }
}

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
  Text text;
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
  return [text](Text* out) {
    if (text != nullptr) out->Append(text);
  };
}
auto Message(const EventAttributes* attributes) {
  return [attributes](Text* out) { AppendMessage(attributes, out); };
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

void* RegisterA(const void*, const char* text) { return g_strings.Add(text); }
void* RegisterW(const void*, const wchar_t* text) { return g_strings.Add(text); }
void* CreateA(const char* text) { return g_domains.Add(text); }
void* CreateW(const wchar_t* text) { return g_domains.Add(text); }

}  // namespace

std::size_t NvtxText(std::int32_t type, const void* value, char* out, std::size_t room) {
  EventAttributes attributes{};
  attributes.bytes = sizeof attributes;
  attributes.message_type = type;
  attributes.message.registered = value;
  Text text;
  AppendMessage(&attributes, &text);
  const std::size_t length = text.size() < room ? text.size() : room - 1;
  memcpy(out, text.data(), length);
  out[length] = 0;
  return length;
}

namespace {

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
