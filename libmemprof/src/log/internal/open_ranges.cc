// Open ranges of all threads, in the order of their pushes.
#include "libmemprof/src/log/internal/open_ranges.h"

namespace memprof::recorder {

void OpenRanges::Push(const KeptEvent& push) {
  if (ranges_.size() >= kMost || !ranges_.Append({push, false})) ++left_out_;
}

bool OpenRanges::Pop(std::uint32_t thread) {
  if (left_out_ > 0) {
    --left_out_;
    return false;
  }
  for (std::size_t i = ranges_.size(); i-- > 0;) {
    if (ranges_[i].push.thread != thread) continue;
    const bool written = ranges_[i].written;
    ranges_.Erase(&ranges_[i]);
    return written;
  }
  return false;
}

void OpenRanges::WriteAll(MappedArray<KeptEvent>* to) {
  for (Range& range : ranges_) {
    if (!range.written) to->Append(range.push);
    range.written = true;
  }
}

void OpenRanges::BeginSegment() {
  for (Range& range : ranges_) range.written = false;
}

}  // namespace memprof::recorder
