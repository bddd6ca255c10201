// Text forms of the allocator's figures.
#include "demo_trainer/allocator/stats.h"

#include <cstdio>

namespace memprof::demo {
namespace {

void Append(std::string* text, const char* key, uint64_t value) {
  if (!text->empty()) text->push_back(' ');
  *text += key;
  *text += '=';
  *text += std::to_string(value);
}

}  // namespace

std::string FormatStats(const AllocatorStats& stats) {
  std::string text;
  Append(&text, "allocated", stats.allocated.current);
  Append(&text, "peak_allocated", stats.allocated.peak);
  Append(&text, "requested", stats.requested.current);
  Append(&text, "peak_requested", stats.requested.peak);
  Append(&text, "reserved", stats.reserved.current);
  Append(&text, "peak_reserved", stats.reserved.peak);
  Append(&text, "blocks", stats.blocks.current);
  Append(&text, "peak_blocks", stats.blocks.peak);
  Append(&text, "segments", stats.segments.current);
  Append(&text, "peak_segments", stats.segments.peak);
  Append(&text, "allocations", stats.allocations);
  Append(&text, "frees", stats.frees);
  Append(&text, "retries", stats.retries);
  Append(&text, "ooms", stats.ooms);
  return text;
}

std::string FormatBytes(uint64_t bytes) {
  char text[48];
  const double amount = static_cast<double>(bytes);
  if (bytes >= (1ull << 30)) {
    std::snprintf(text, sizeof(text), "%.2f GiB", amount / (1ull << 30));
  } else if (bytes >= (1ull << 20)) {
    std::snprintf(text, sizeof(text), "%.2f MiB", amount / (1ull << 20));
  } else if (bytes >= 1024) {
    std::snprintf(text, sizeof(text), "%.2f KiB", amount / 1024);
  } else {
    std::snprintf(text, sizeof(text), "%llu bytes", static_cast<unsigned long long>(bytes));
  }
  return text;
}

}  // namespace memprof::demo
