// The ranges that threads are in, for a log in which not all are written: a push is written when
// something within it is, and its pop only if the push was.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/mapped_array.h"
#include "libmemprof/src/log/internal/kept_event.h"

namespace memprof::recorder {

class OpenRanges {
 public:
  // Of a push that may be written later. Beyond a thousand open ranges they are left out.
  void Push(const KeptEvent& push);
  // Of a pop: whether it is to be written.
  bool Pop(std::uint32_t thread);
  // Appends the pushes of open ranges that were not written yet, outermost first.
  void WriteAll(MappedArray<KeptEvent>* to);
  // The next segment has none of them.
  void BeginSegment();

 private:
  static constexpr std::size_t kMost = 1000;
  struct Range {
    KeptEvent push;
    bool written;
  };
  MappedArray<Range> ranges_;
  // Pushes that were left out, whose pops are left out too. Threads are not told apart: the rest of
  // such a log has fewer ranges.
  std::uint64_t left_out_ = 0;
};

}  // namespace memprof::recorder
