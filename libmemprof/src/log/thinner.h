// Chooses what of the events is written in a recording that is always on (proto/memprof.proto,
// OP_THINNED), so that a budget of bytes is kept.
//
// The events are taken in units: training steps, or seconds where nobody marks steps. At its end
// a unit is either kept whole, or thinned:
//
//   whole    a failure or a snapshot is in it; it is among the first of its segment; the level of
//            memory passed that of all whole ones by 1 %; or enough of the budget has gathered
//            since the last whole one (every k-th step, where k is as small as the budget allows)
//   thinned  blocks that ended before they were written are drawn, half of them by size
//            (threshold.h), half by number;
//            what lives longer than a few units is written, oldest first, as fast as the budget
//            allows; changes of state are written; uses of memory are left out
//
// If more lives on than the budget allows for long, that is drawn as well, with its weight.
//
// Where the period's budget is spent, and where a block has no place in Alive, the event is lost
// and counted; the first failures of a segment have room always.
//
// Memory: 35 MiB at most, charged to the recorder's budget.
// A process that is killed loses the unit that it was in. Not thread-safe: belongs to the writer's
// thread. Cost: for each event about one search in a hash table and two copies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/mapped_array.h"
#include "libmemprof/src/log/internal/alive.h"
#include "libmemprof/src/log/internal/allowance.h"
#include "libmemprof/src/log/internal/kept_event.h"
#include "libmemprof/src/log/internal/levels.h"
#include "libmemprof/src/log/internal/open_ranges.h"
#include "libmemprof/src/log/internal/threshold.h"
#include "proto/always_on.h"

namespace memprof::recorder {

class Thinner {
 public:
  Thinner(const log::AlwaysOnBudget& settings, std::uint64_t seed);
  Thinner(const Thinner&) = delete;
  Thinner& operator=(const Thinner&) = delete;

  // The next event, in the order of time over all threads.
  void Add(const ring::RingEvent& event, std::uint32_t thread);
  // Time passes also without events.
  void Tick(std::uint64_t now_ns);
  // All that was added is decided: the log may end here.
  void Finish(std::uint64_t now_ns);
  // Marks the end of what was left out up to now, so that a reader of the log knows it.
  void BeforeWriting() {
    if (allowance_.Rest(Spent()) > 0) EndStretch(unit_begin_ns_);
  }

  // What is to be written, in no order of time; the caller clears it.
  MappedArray<KeptEvent>* kept() { return &kept_; }
  // Of the segment so far; `events` of `kept` took `bytes` of them.
  void NoteWritten(std::uint64_t now_ns, std::uint64_t segment_bytes, std::uint64_t events,
                   std::uint64_t bytes);
  // So many of what was kept, the earliest of `first_ns`, had no place in the log.
  void NoteRefused(std::uint64_t first_ns, std::uint64_t events);
  // Something was kept that must not be lost: write now.
  bool IsUrgent() const { return urgent_; }
  // The next write is worth its frame.
  bool IsDue(std::uint64_t now_ns) const { return urgent_ || now_ns >= next_write_ns_; }

  // Whether a segment of so many bytes may still grow, by names of what it has.
  bool HasRoom(std::uint64_t segment_bytes) const {
    return allowance_.Rest(static_cast<double>(segment_bytes)) > 0;
  }

  bool SegmentIsOver(std::uint64_t now_ns) const { return allowance_.IsOver(now_ns); }
  // Ends the stretch and the unit; then, in the next log, lists what is alive.
  void EndSegment(std::uint64_t now_ns);
  // The next log has `bytes` already.
  void BeginSegment(std::uint64_t now_ns, std::uint64_t bytes = 0);

  std::uint64_t left_out() const { return all_left_out_; }
  // Of these, what should have been written.
  std::uint64_t lost() const { return lost_; }

  static constexpr std::size_t kMostInUnit = 32768;

 private:
  // What an event that ends a life ended.
  struct Closed {
    Living living;
    bool undone;  // by OP_FREE_FAILED
  };
  // A block of an earlier unit that was alive at the unit's end.
  struct Waiting {
    std::uint64_t address;
    std::uint32_t unit;
    std::uint8_t layer;
  };
  enum class Rest : std::uint8_t { kOpen, kWhole, kThinned };  // of the step, after a part of it

  // Events on their way into the unit; false for a block that has no place, and for its end.
  bool Begin(KeptEvent* item);
  bool End(KeptEvent* item);
  void UndoEnd(KeptEvent* item);
  void EndAllOf(const ring::RingEvent& end);
  void EndMaps(const ring::RingEvent& unmap);
  void StopCounting(const Living& living);
  void KeepEnded(const Living& living);

  // thinner_units.cc: the unit's end.
  void EndUnit(std::uint64_t now_ns, bool final);
  bool IsToBeWhole(std::uint64_t now_ns, bool final) const;
  void WriteWhole();
  void WriteWhole(const KeptEvent& item);
  void WriteThinned(std::uint64_t now_ns);
  void WriteThinned(std::uint32_t index);
  void WriteEnd(std::uint32_t index);
  void DrawPairs(std::uint64_t now_ns);
  void WaitForHorizon(const KeptEvent& item);
  void WriteWaiting();
  void WriteSurvivors(std::uint64_t now_ns);
  void DrawWaiting(std::size_t end, double events);
  void Promote(Living* living, std::uint32_t weight);
  void DropDecided();
  Living* IfOpen(const Waiting& waiting);
  bool IsOld(const Waiting& waiting, std::uint64_t now_ns);
  void EndStretch(std::uint64_t end_ns);

  void NoteStep(const KeptEvent& item);
  // `sure`: whatever is spent.
  void WriteStep(bool sure = false);
  void Write(const KeptEvent& item);
  void Keep(const ring::RingEvent& event, std::uint32_t thread, std::uint32_t weight,
            bool sure = false);
  void LeaveOut(const ring::RingEvent& event);
  void Lose(const ring::RingEvent& event);
  double Spent() const;
  // What units that are thinned may spend in `ns`.
  double ForThinned(std::uint64_t now_ns, std::uint64_t ns) const;
  void Save(std::uint64_t now_ns);
  double EventsFor(double bytes) const { return bytes > 0 ? bytes / bytes_per_event_ : 0; }

  Allowance allowance_;
  Draws draws_;
  Alive alive_;
  Levels levels_;
  OpenRanges ranges_;

  // weight: of ends, 1 + index in closed_; of allocations, 1 = to be written for sure
  MappedArray<KeptEvent> unit_{Need::kWriter};
  MappedArray<Closed> closed_{Need::kWriter};
  MappedArray<std::uint32_t> pairs_{Need::kWriter};  // of unit_: ends of blocks not decided
  MappedArray<Waiting> waiting_{Need::kWriter};      // oldest first, from first_waiting_ on
  std::size_t first_waiting_ = 0;
  MappedArray<KeptEvent> kept_{Need::kWriter};

  std::uint32_t number_ = 1;  // of the unit
  std::uint64_t unit_begin_ns_ = 0;
  std::uint64_t last_step_ns_ = 0;
  std::uint64_t last_unit_events_ = 0;
  bool unit_failed_ = false;  // a failure or a snapshot is in it
  Rest rest_ = Rest::kOpen;
  KeptEvent step_{};  // the last one, if it was not written; op 0 = none
  std::uint64_t last_written_step_ns_ = 0;
  std::uint32_t whole_in_segment_ = 0;
  std::uint32_t failures_in_segment_ = 0;  // kept
  double saved_ = 0;  // bytes of the budget, for whole units
  std::uint64_t last_saved_ns_ = 0;
  std::uint64_t last_memory_info_ns_ = 0;

  std::uint64_t last_survivors_ns_ = 0;
  std::uint64_t left_out_alive_ = 0;  // blocks
  std::uint64_t without_place_ = 0;   // of these, in alive_
  bool ends_left_out_ = false;        // one of them ended in the unit

  bool in_stretch_ = false;
  std::uint64_t stretch_begin_ns_ = 0;
  std::uint64_t left_out_ = 0, allocations_left_out_ = 0;  // of the stretch
  std::uint64_t all_left_out_ = 0;
  std::uint64_t lost_ = 0;
  bool spent_all_ = false;  // of the segment

  std::uint64_t segment_begin_ns_ = 0;
  double spent_ = 0;
  double bytes_per_event_ = 24;  // measured later
  bool urgent_ = false;
  std::uint64_t next_write_ns_ = 0;
};

}  // namespace memprof::recorder
