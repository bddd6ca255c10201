// What is alive: memory, maps, contexts, modules and pools, each with the event that began it.
// A log that is thinned needs it to tell which blocks live on, and the next segment to begin with
// it. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/hash_table.h"
#include "libmemprof/src/log/internal/kept_event.h"

namespace memprof::recorder {

// What has become of the event that began it.
enum class Fate : std::uint8_t {
  kOpen,       // not decided
  kWritten,    // in the log, or to be written with its unit
  kLeftOut,    // not drawn: its end is left out too
  kUnlisted,   // likewise of this segment's list; it was written in an earlier one
  kEndsEarly,  // only its end has come so far
};

struct Living {
  ring::RingEvent event;  // op 0 = an empty entry
  std::uint32_t thread;
  std::uint32_t unit;
  Fate fate;
  std::uint32_t place = 0;  // in its unit

  bool empty() const { return event.op == 0; }
  bool is_left_out() const { return fate == Fate::kLeftOut || fate == Fate::kUnlisted; }
  std::uint64_t hash() const;
};

class Alive {
 public:
  // That which `event` begins or ends; null if it is not known.
  Living* Find(const ring::RingEvent& event);
  // It must not be known yet. Null when there is no place for it.
  Living* Add(const Living& living) { return entries_.Insert(living); }
  void Erase(Living* living) { entries_.Erase(living); }
  std::size_t size() const { return entries_.size(); }

  template <typename Visit>
  void ForEach(Visit visit) {
    entries_.ForEach(visit);
  }
  // What ends with a context, a device or a module.
  template <typename Visit>
  void End(const ring::RingEvent& end, Visit visit) {
    entries_.EraseIf([&](const Living& living) {
      if (!EndsWith(living, end)) return false;
      visit(living);
      return true;
    });
  }

 private:
  static constexpr std::size_t kFirstEntries = 4096;
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 17;  // 12 MiB
  static bool EndsWith(const Living& living, const ring::RingEvent& end);

  HashTable<Living> entries_{kFirstEntries, kMaxEntries};
};

// Whether the op begins something that Alive follows, or ends one.
bool BeginsLife(std::uint8_t op);
bool EndsLife(std::uint8_t op);

}  // namespace memprof::recorder
