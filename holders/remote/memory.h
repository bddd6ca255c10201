// The memory of another process, read in blocks that are kept. What is not mapped, or belongs to a
// device, is not read: it reads as zeros. So do all errors; whoever interprets what is read checks
// it, because a running process changes it meanwhile.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "holders/remote/process.h"

namespace memprof::holders {

class Memory {
 public:
  // After `most_work` reads, long ones counted several times, nothing can be read any more: then
  // even a process that was made to be read forever is read for minutes at most.
  Memory(pid_t pid, const std::vector<Mapping>& mappings,
         std::uint64_t most_work = std::uint64_t{4} << 30);

  // False if not all of it can be read; then nothing of `to` is of use.
  bool Read(std::uint64_t address, void* to, std::size_t bytes);
  // 0 if it cannot be read.
  template <typename Value>
  Value Load(std::uint64_t address) {
    Value value;
    return Read(address, &value, sizeof value) ? value : Value{};
  }
  std::uint64_t Word(std::uint64_t address) { return Load<std::uint64_t>(address); }
  // Text that ends in a zero, at most `most` bytes.
  std::string CString(std::uint64_t address, std::size_t most);

  // The process has ended, or does not let itself be read: an errno, else 0.
  int error() const { return error_; }
  bool exhausted() const { return work_left_ == 0; }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  static constexpr std::size_t kBlock = 16384, kPage = 4096;
  struct Block {
    std::array<char, kBlock> bytes;
    std::array<bool, kBlock / kPage> valid;
  };
  const Block& Fetch(std::uint64_t number);

  pid_t pid_;
  std::vector<Mapping> ranges_;  // readable, sorted
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Block>> blocks_;
  std::uint64_t last_number_ = ~std::uint64_t{0};
  const Block* last_ = nullptr;
  std::uint64_t bytes_read_ = 0, work_left_;
  int error_ = 0;
};

}  // namespace memprof::holders
