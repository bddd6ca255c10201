// One row for each function of the table: its parameters are read from the structure in which the
// source has them, and handed to the function's event.
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

namespace memprof::recorder {
namespace {

// Where the members of a structure of these types are.
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

// What is kept of a call from its entry to its exit: the event's own state, because a source can
// keep but 64 bits. One place for each call that is under way; where all are taken, the call's exit
// is not recorded. Not in thread-local storage, of which little is left where the library is loaded
// late.
constexpr std::size_t kStateBytes = 80;
constexpr std::size_t kPlaces = 256;
struct Kept {
  std::atomic<std::uint64_t> key;  // also with the source; 0 = free
  std::uint32_t freeing;
  alignas(8) unsigned char state[kStateBytes];
};
Kept g_kept[kPlaces];
std::atomic<std::uint32_t> g_last_key{0};

// Counts the times that listening began: a call of an earlier time may wait for its exit in vain.
std::atomic<std::uint32_t> g_time{0};

// Unlike what a source's 64 bits may hold by chance. Below it 8 bits of g_time, a count of 16 bits,
// and the place.
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

// The place of a call that was kept; null where its entry was not seen.
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

// No events.
struct Init {};
struct GetProcAddress {};

const Row kRows[kFunctionCount] = {
#define MEMPROF_SOURCE_ROW(name, base, since, streams, parameters, arguments, handler) \
  RowOf<handler>(static_cast<CUresult(*) parameters>(nullptr)),
    MEMPROF_DRIVER_FUNCTIONS(MEMPROF_SOURCE_ROW)
#undef MEMPROF_SOURCE_ROW
};

void Enter(const Row& row, FunctionId id, const SourceCall& told) {
  if (told.kept != nullptr) *told.kept = 0;
  if (row.before == nullptr) return;
  alignas(8) unsigned char unkept[kStateBytes];
  Kept* place = row.after != nullptr && told.kept != nullptr ? TakeAnyPlace() : nullptr;
  Call call(id);
  row.before(&call, told.parameters, place != nullptr ? place->state : unkept);
  if (place == nullptr) return;
  place->freeing = call.freeing();
  *told.kept = place->key.load(std::memory_order_relaxed);
}

void Exit(const Row& row, FunctionId id, const SourceCall& told) {
  if (row.after == nullptr) return;
  alignas(8) unsigned char unkept[kStateBytes];
  Kept* place = row.before != nullptr ? PlaceOf(told.kept) : nullptr;
  // Where listening began within the call, nothing is known of its beginning.
  if (row.before != nullptr && place == nullptr) return;
  Call call(id);
  if (place != nullptr) call.set_freeing(place->freeing);
  row.after(&call, static_cast<CUresult>(told.result), told.parameters,
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

void ForgetDriverCalls() { g_time.fetch_add(1, std::memory_order_relaxed); }

void RecordDriverCall(const SourceCall& told) {
  if (told.function < 0 || told.function >= kFunctionCount || told.parameters == nullptr) return;
  if (!Recording()) return;
  const Row& row = kRows[told.function];
  // Hooks that are in place report contexts themselves.
  if (!row.is_memory && CurrentThread().depth > 0) return;
  NoticeLoadedDriver();  // a source sees calls that reach the driver past every hook
  const auto id = static_cast<FunctionId>(told.function);
  if (told.is_exit != 0)
    Exit(row, id, told);
  else
    Enter(row, id, told);
}

}  // namespace memprof::recorder
