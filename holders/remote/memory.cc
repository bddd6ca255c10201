// A cache over process_vm_readv.
#include "holders/remote/memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"

namespace memprof::holders {
namespace {

constexpr std::size_t kMostBlocks = std::size_t{1} << 15;  // 512 MiB
constexpr std::uint64_t kBytesOfWork = 256;
constexpr std::uint64_t kEndOfUserSpace = std::uint64_t{1} << 56;

// Reading memory that a device maps may move it.
bool OfDevice(const std::string& path) {
  return absl::StartsWith(path, "/dev/") && !absl::StartsWith(path, "/dev/zero") &&
         !absl::StartsWith(path, "/dev/shm/");
}

}  // namespace

Memory::Memory(pid_t pid, const std::vector<Mapping>& mappings, std::uint64_t most_work)
    : pid_(pid), work_left_(most_work) {
  for (const Mapping& mapping : mappings) {
    if (!mapping.readable || OfDevice(mapping.path) || absl::StartsWith(mapping.path, "[v"))
      continue;
    if (!ranges_.empty() && ranges_.back().end == mapping.begin) {
      ranges_.back().end = mapping.end;
    } else if (ranges_.empty() || ranges_.back().end < mapping.begin) {
      ranges_.push_back({mapping.begin, mapping.end});
    }
  }
}

const Memory::Block& Memory::Fetch(std::uint64_t number) {
  if (number == last_number_) return *last_;
  std::unique_ptr<Block>& kept = blocks_[number];
  if (kept == nullptr) {
    if (blocks_.size() > kMostBlocks) {
      blocks_.clear();
      return Fetch(number);
    }
    kept = std::make_unique<Block>();
    const auto mapped = [&](std::size_t page) {
      return Containing(ranges_, number * kBlock + page * kPage) != nullptr;
    };
    std::size_t page = 0;
    while (page < kBlock / kPage && error_ == 0) {
      iovec local[kBlock / kPage], remote[kBlock / kPage];
      std::size_t count = 0;
      const std::size_t first = page;
      for (; page < kBlock / kPage && mapped(page); ++page, ++count) {
        local[count] = {kept->bytes.data() + page * kPage, kPage};
        remote[count] = {reinterpret_cast<void*>(number * kBlock + page * kPage), kPage};
      }
      if (count == 0) {
        ++page;
        continue;
      }
      const ssize_t read = process_vm_readv(pid_, local, count, remote, count, 0);
      if (read < 0 && errno != EFAULT) error_ = errno;
      const std::size_t whole = read > 0 ? static_cast<std::size_t>(read) / kPage : 0;
      std::fill_n(kept->valid.begin() + static_cast<std::ptrdiff_t>(first), whole, true);
      bytes_read_ += whole * kPage;
      page = first + whole + (whole < count);  // the one after them cannot be read
    }
  }
  last_number_ = number;
  last_ = kept.get();
  return *kept;
}

bool Memory::Read(std::uint64_t address, void* to, std::size_t bytes) {
  if (address >= kEndOfUserSpace || bytes >= kEndOfUserSpace) return false;
  work_left_ -= std::min(work_left_, 1 + bytes / kBytesOfWork);
  if (work_left_ == 0) return false;
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const Block& block = Fetch(address / kBlock);
    const std::size_t at = address % kBlock;
    if (!block.valid[at / kPage]) return false;
    const std::size_t some = std::min(bytes, kPage - at % kPage);
    std::memcpy(out, block.bytes.data() + at, some);
    out += some;
    address += some;
    bytes -= some;
  }
  return true;
}

std::string Memory::CString(std::uint64_t address, std::size_t most) {
  std::string text;
  for (char next; text.size() < most && Read(address + text.size(), &next, 1) && next != '\0';)
    text.push_back(next);
  return text;
}

}  // namespace memprof::holders
