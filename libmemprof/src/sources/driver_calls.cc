// One row for each function of the table: reads the function's parameters from the source's
// structure, and passes them to the function's event.
#include "libmemprof/src/sources/driver_calls.h"

#include <string.h>

#include <array>
#include <atomic>
#include <concepts>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "libmemprof/src/events/families.h"
#include "libmemprof/src/recording/thread_states.h"

namespace memprof::recorder {
namespace {

// The offsets of the members of a structure with members of these types.
template <typename... Members>
constexpr std::array<std::size_t, sizeof...(Members)> Offsets() {
  std::array<std::size_t, sizeof...(Members)> offsets{};
  std::size_t end = 0, i = 0;
  ((end = (end + alignof(Members) - 1) / alignof(Members) * alignof(Members), offsets[i++] = end,
    end += sizeof(Members)),
   ...);
  return offsets;
}

template <typename T>
T MemberAt(const void* structure, std::size_t offset) {
  T member;
  memcpy(&member, static_cast<const char*>(structure) + offset, sizeof member);
  return member;
}

template <typename... Members, std::size_t... kIndex>
std::tuple<Members...> Read(const void* structure, std::index_sequence<kIndex...>) {
  constexpr auto kOffsets = Offsets<Members...>();
  return {MemberAt<Members>(structure, kOffsets[kIndex])...};
}

// The state of an event from the entry of its call to the exit, because a source can only keep 64
// bits. One place for each running call; without a free place, the exit is not recorded. Not in
// thread-local storage, which is scarce in a library that is loaded late.
constexpr std::size_t kStateBytes = 80;
constexpr std::size_t kPlaces = 256;
struct Kept {
  std::atomic<std::uint64_t> key;  // the source has a copy; 0 = free
  std::uint32_t freeing;
  alignas(8) unsigned char state[kStateBytes];
};
Kept g_kept[kPlaces];
std::atomic<std::uint32_t> g_last_key{0};

// Incremented each time listening begins: calls of an earlier time may never get their exit.
std::atomic<std::uint32_t> g_time{0};

// A value that the 64 bits of a source do not hold by chance. Below it: 8 bits of g_time, a counter
// of 16 bits, and the place.
constexpr std::uint64_t kKeyMark = 0x6d656d70'00000000;

bool TakePlace(std::size_t number, std::uint64_t expected, std::uint64_t time) {
  const std::uint64_t count = g_last_key.fetch_add(1, std::memory_order_relaxed) & 0xffff;
  return g_kept[number].key.compare_exchange_strong(
      expected, kKeyMark | time << 24 | count << 8 | number, std::memory_order_acquire);
}

Kept* TakeAnyPlace() {
  const std::uint64_t time = g_time.load(std::memory_order_relaxed) & 0xff;
  const std::uint64_t thread = reinterpret_cast<std::uintptr_t>(&CurrentThread());
  const std::size_t first = thread * 0x9e3779b97f4a7c15 >> 56;
  for (const bool of_earlier_time : {false, true}) {
    for (std::size_t i = 0; i < kPlaces; ++i) {
      const std::size_t number = (first + i) % kPlaces;
      const std::uint64_t key = g_kept[number].key.load(std::memory_order_relaxed);
      const bool takes = of_earlier_time ? (key >> 24 & 0xff) != time : key == 0;
      if (takes && TakePlace(number, key, time)) return &g_kept[number];
    }
  }
  return nullptr;
}

// The place of a call; null if its entry was not recorded.
Kept* PlaceOf(const std::uint64_t* key) {
  if (key == nullptr || (*key & 0xffffffff'00000000) != kKeyMark) return nullptr;
  Kept* place = &g_kept[*key % kPlaces];
  return place->key.load(std::memory_order_acquire) == *key ? place : nullptr;
}

struct Row {
  bool is_memory = false;
  void (*before)(Call* call, const void* parameters, void* state) = nullptr;
  void (*after)(Call* call, CUresult result, const void* parameters, void* state) = nullptr;
};

template <typename Event, typename... Arguments>
Row RowOf(CUresult (*)(Arguments...)) {
  Row row;
  if constexpr (std::derived_from<Event, MemoryEvent> || std::derived_from<Event, ContextEvent>) {
    static_assert(sizeof(Event) <= kStateBytes && std::is_trivially_copyable_v<Event>);
    row.is_memory = Event::kIsMemory;
    constexpr bool kBefore = requires(Event event, Call * call, Arguments... all) {
      event.Before(call, all...);
    };
    constexpr bool kAfter = requires(Event event, Call * call, Arguments... all) {
      event.After(call, CUresult{}, all...);
    };
    if constexpr (kBefore)
      row.before = [](Call* call, const void* parameters, void* state) {
        auto* event = new (state) Event;
        auto arguments = Read<Arguments...>(parameters, std::index_sequence_for<Arguments...>());
        std::apply([&](auto&... all) { event->Before(call, all...); }, arguments);
      };
    if constexpr (kAfter)
      row.after = [](Call* call, CUresult result, const void* parameters, void* state) {
        auto* event = kBefore ? std::launder(static_cast<Event*>(state)) : new (state) Event;
        auto arguments = Read<Arguments...>(parameters, std::index_sequence_for<Arguments...>());
        std::apply([&](auto&... all) { event->After(call, result, all...); }, arguments);
      };
  }
  return row;
}

// Functions without events.
struct Init {};
struct GetProcAddress {};

const Row kRows[kFunctionCount] = {
#define MEMPROF_SOURCE_ROW(name, base, since, streams, parameters, arguments, handler) \
  RowOf<handler>(static_cast<CUresult(*) parameters>(nullptr)),
    MEMPROF_DRIVER_FUNCTIONS(MEMPROF_SOURCE_ROW)
#undef MEMPROF_SOURCE_ROW
};

void Enter(const Row& row, FunctionId id, const SourceCall& half) {
  if (half.kept != nullptr) *half.kept = 0;
  if (row.before == nullptr) return;
  alignas(8) unsigned char unkept[kStateBytes];
  Kept* place = row.after != nullptr && half.kept != nullptr ? TakeAnyPlace() : nullptr;
  Call call(id);
  row.before(&call, half.parameters, place != nullptr ? place->state : unkept);
  if (place == nullptr) return;
  place->freeing = call.freeing();
  *half.kept = place->key.load(std::memory_order_relaxed);
}

void Exit(const Row& row, FunctionId id, const SourceCall& half) {
  if (row.after == nullptr) return;
  alignas(8) unsigned char unkept[kStateBytes];
  Kept* place = row.before != nullptr ? PlaceOf(half.kept) : nullptr;
  // If listening began within the call, its entry is missing.
  if (row.before != nullptr && place == nullptr) return;
  Call call(id);
  if (place != nullptr) call.set_freeing(place->freeing);
  row.after(&call, static_cast<CUresult>(half.result), half.parameters,
            place != nullptr ? place->state : unkept);
  if (place != nullptr) place->key.store(0, std::memory_order_release);
}

}  // namespace

int DriverFunctionId(const char* name) {
  for (int i = 0; name != nullptr && i < kFunctionCount; ++i)
    if (strcmp(FunctionName(static_cast<FunctionId>(i)), name) == 0)
      return kRows[i].before != nullptr || kRows[i].after != nullptr ? i : -1;
  return -1;
}

void ClearDriverCalls() { g_time.fetch_add(1, std::memory_order_relaxed); }

void RecordDriverCall(const SourceCall& half) {
  if (half.function < 0 || half.function >= kFunctionCount || half.parameters == nullptr) return;
  const Visit visit;
  if (!Recording()) return;
  const Row& row = kRows[half.function];
  // Hooks, where installed, record contexts themselves.
  if (!row.is_memory && CurrentThread().depth > 0) return;
  NoticeLoadedDriver();  // a source sees calls that reach the driver past every hook
  const auto id = static_cast<FunctionId>(half.function);
  if (half.is_exit != 0)
    Exit(row, id, half);
  else
    Enter(row, id, half);
}

}  // namespace memprof::recorder
