// The private pools that a thread has PyTorch's allocator allocate from: those of the program
// (torch.cuda.use_mem_pool) and those of captures. Of several, the one chosen last counts.
//
// PyTorch calls nothing there that could be interposed: the agent in the program's Python reports
// them (memprof_pool_begin). Each thread has its own list in its ThreadState, so there is no lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

struct ChosenPool {
  std::uint64_t pool;   // both of PyTorch's numbers, 32 bits each
  std::int32_t device;  // for whose allocator it was chosen
  bool captures;        // only for streams that are being captured
};

class ChosenPools {
 public:
  static constexpr std::size_t kMost = 8;  // then the oldest is forgotten: its end was not seen

  void Begin(const ChosenPool& chosen) {
    if (size_ == kMost) Remove(0);
    pools_[size_++] = chosen;
  }
  // Ends the newest choice of this pool, if there is one.
  void End(std::int32_t device, std::uint64_t pool) {
    std::size_t at = size_;
    while (at > 0 && (pools_[at - 1].pool != pool || pools_[at - 1].device != device)) --at;
    if (at > 0) Remove(at - 1);
  }

  std::size_t size() const { return size_; }
  const ChosenPool& operator[](std::size_t i) const { return pools_[i]; }

 private:
  void Remove(std::size_t at) {
    for (--size_; at < size_; ++at) pools_[at] = pools_[at + 1];
  }

  std::size_t size_ = 0;
  ChosenPool pools_[kMost] = {};
};

}  // namespace memprof::recorder
