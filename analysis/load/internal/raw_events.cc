// Single decoded events, and the release of memory that was read.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "analysis/load/internal/columns.h"

namespace memprof::analysis {

Event RawEvents::At(std::size_t row) const {
  const Row& from = rows[row];
  Event event;
  static_cast<EventKind&>(event) = kinds[from.kind];
  event.time = from.time;
  event.address = from.address;
  event.bytes = from.bytes;
  event.stack = from.stack;
  if (from.detail == EventId::kNone) return event;
  const Detail& detail = details[from.detail];
  event.aux0 = detail.aux0;
  event.aux1 = detail.aux1;
  event.label = detail.label;
  event.result = detail.result;
  return event;
}

void RawEvents::ForgetBefore(std::size_t end) {
  const auto page = static_cast<std::uintptr_t>(getpagesize());
  const auto first = reinterpret_cast<std::uintptr_t>(rows.data());
  const std::uintptr_t from = std::max(forgotten_, (first + page - 1) / page * page);
  const std::uintptr_t to = (first + end * sizeof(Row)) / page * page;
  if (to <= from) return;
  madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);  // an error does no harm
  forgotten_ = to;
}

}  // namespace memprof::analysis
