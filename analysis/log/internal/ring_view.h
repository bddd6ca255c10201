// The shared memory of a recording, as in its file.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/ring.h"

namespace memprof::analysis {

// A copy of the file. Not a mapping: the owner of the file could truncate it while it is read.
class RingView {
 public:
  RingView() = default;
  RingView(RingView&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        data_(std::exchange(other.data_, nullptr)),
        size_(other.size_),
        slabs_(other.slabs_) {}
  RingView(const RingView&) = delete;
  RingView& operator=(const RingView&) = delete;
  ~RingView() {
    if (data_ != nullptr) munmap(data_, size_);
    if (fd_ >= 0) close(fd_);
  }

  // Reads only the header.
  static absl::StatusOr<RingView> Open(const std::string& path,
                                       std::optional<std::uint32_t> log_owner);
  // Reads everything, once nothing is written any more. False if the file has become shorter.
  bool Load();
  const ring::RingHeader& header() const {
    return *reinterpret_cast<const ring::RingHeader*>(data_);
  }
  std::uint32_t slabs() const { return slabs_; }
  const ring::SlabHeader& slab(std::uint32_t index) const {
    return *reinterpret_cast<const ring::SlabHeader*>(data_ + ring::kRingHeaderBytes +
                                                      std::size_t{index} * ring::kSlabBytes);
  }
  const char* payload(std::uint32_t index) const {
    return reinterpret_cast<const char*>(&slab(index) + 1);
  }

 private:
  absl::Status CheckIdentity();
  bool Read(std::size_t offset, std::size_t bytes);

  int fd_ = -1;
  char* data_ = nullptr;  // address space that gets memory where something is read to
  std::size_t size_ = 0;
  std::uint32_t slabs_ = 0;
};

// Whether the process still has the ring mapped. The pid alone is not enough: another process may
// have got it, or the program may have replaced itself by exec, which keeps it.
bool StillRecording(const ring::RingHeader& header, const std::string& ring_path);

}  // namespace memprof::analysis
