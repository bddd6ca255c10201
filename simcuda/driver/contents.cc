// The known bytes of device memory without contents.
#include "simcuda/driver/contents.h"

#include <algorithm>
#include <cstring>

#include "simcuda/common/config.h"

namespace memprof::simcuda {

KnownBytes::Page& KnownBytes::PageOf(uint64_t index) {
  if (pages_.size() >= kMaxPages && !pages_.contains(index)) pages_.clear();
  return pages_[index];
}

void KnownBytes::Write(uint64_t address, const void* from, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > kMaxWrite) return ForgetLocked(address, bytes);
  const auto* next = static_cast<const uint8_t*>(from);
  for (size_t done = 0; done < bytes;) {
    const size_t at = (address + done) % kPage;
    const size_t length = std::min(bytes - done, kPage - at);
    Page& page = PageOf((address + done) / kPage);
    std::memcpy(&page.bytes[at], next + done, length);
    for (size_t i = 0; i < length; ++i) page.known.set(at + i);
    done += length;
  }
}

void KnownBytes::Fill(uint64_t address, uint8_t value, size_t bytes) {
  if (value == 0 || bytes > kMaxWrite) return Forget(address, bytes);
  std::array<uint8_t, kPage> row;
  row.fill(value);
  for (size_t done = 0; done < bytes; done += kPage)
    Write(address + done, row.data(), std::min(kPage, bytes - done));
}

void KnownBytes::Forget(uint64_t address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  ForgetLocked(address, bytes);
}

void KnownBytes::ForgetLocked(uint64_t address, size_t bytes) {
  if (bytes == 0) return;
  const uint64_t end = address + bytes;
  auto page = pages_.lower_bound(address / kPage);
  while (page != pages_.end() && page->first * kPage < end) {
    const uint64_t base = page->first * kPage;
    const uint64_t low = std::max(address, base) - base;
    const uint64_t high = std::min(end, base + kPage) - base;
    for (uint64_t i = low; i < high; ++i) page->second.known.reset(i);
    page = page->second.known.none() ? pages_.erase(page) : std::next(page);
  }
}

void KnownBytes::Read(uint64_t address, void* to, size_t bytes) const {
  std::memset(to, 0, bytes);
  const std::lock_guard lock(mutex_);
  auto* out = static_cast<uint8_t*>(to);
  auto page = pages_.lower_bound(address / kPage);
  for (; page != pages_.end() && page->first * kPage < address + bytes; ++page) {
    const uint64_t base = page->first * kPage;
    const uint64_t high = std::min(address + bytes, base + kPage);
    for (uint64_t at = std::max(address, base); at < high; ++at) {
      if (page->second.known.test(at - base)) out[at - address] = page->second.bytes[at - base];
    }
  }
}

bool KnownBytes::Knows(uint64_t address, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto page = pages_.lower_bound(address / kPage);
  for (; page != pages_.end() && page->first * kPage < address + bytes; ++page) {
    const uint64_t base = page->first * kPage;
    const uint64_t high = std::min(address + bytes, base + kPage);
    for (uint64_t at = std::max(address, base); at < high; ++at) {
      if (page->second.known.test(at - base)) return true;
    }
  }
  return false;
}

void KnownBytes::Clear() {
  const std::lock_guard lock(mutex_);
  pages_.clear();
}

size_t KnownBytes::pages() const {
  const std::lock_guard lock(mutex_);
  return pages_.size();
}

bool DeviceKeepsContents() {
  static const bool keeps = GlobalConfig(false).contents;
  return keeps;
}

KnownBytes& DeviceContents() {
  static KnownBytes* contents = new KnownBytes;  // outlives the streams' threads
  return *contents;
}

}  // namespace memprof::simcuda
