// The mapped executables and shared objects of this process: which one an address lies in, and what
// a reader needs in order to find symbols for it (path, build-id, load bias).
//
// The list is read only when the loader's counters show that something was loaded or unloaded.
// Thread-safety: Refresh and Find may be called by any thread. Refresh takes the loader's list lock
// for a moment (never the lock that is held while constructors run), and no lock of ours meanwhile.
#pragma once

#include <limits.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/log/definitions.h"

namespace memprof::recorder {

// Writes a path that the reader can open later to `path`, with space for PATH_MAX bytes: the
// loader's name of a module made absolute.
void AbsolutePath(const char* name, char* path);

class Modules {
 public:
  explicit Modules(Definitions* definitions) : definitions_(definitions) {}
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // Brings the table up to date if the loader's lists have changed since the last call.
  void Refresh();

  // Id of the module that covers `address`; 0 = none. Marks the module as used by a stack.
  std::uint32_t Find(std::uint64_t address);

  // Whether PyTorch's GPU libraries were loaded, and whether a recorded stack has a frame in them.
  bool torch_loaded() const { return torch_loaded_.load(std::memory_order_acquire); }
  bool torch_used() const { return torch_used_.load(std::memory_order_relaxed); }
  // The path of the first of these libraries, once torch_loaded().
  const char* torch_path() const { return torch_path_; }

  // Increases when anything was loaded or unloaded, as of the last Refresh.
  std::uint64_t changes() const {
    return seen_adds_.load(std::memory_order_relaxed) + seen_subs_.load(std::memory_order_relaxed);
  }

  // Changes when a module that stacks refer to was unloaded: its addresses may then belong to other
  // code.
  std::uint32_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  struct Mapped {
    std::uint64_t first;
    std::uint64_t end;
    std::uint64_t bias;
    std::uint64_t path_hash;
    std::uint32_t id;
    bool used;
    bool of_torch;
  };
  struct Collected;
  static int Collect(dl_phdr_info* info, std::size_t size, void* collected);
  bool Changed();
  void Merge(const Collected& collected);

  Definitions* definitions_;
  Mutex<LockRank::kModules> mutex_;
  Mapped* mapped_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  std::uint32_t last_id_ = 0;
  std::atomic<std::uint64_t> seen_adds_{0};
  std::atomic<std::uint64_t> seen_subs_{0};
  std::atomic<std::uint32_t> generation_{1};
  std::atomic<bool> torch_loaded_{false};
  std::atomic<bool> torch_used_{false};
  char torch_path_[PATH_MAX] = {};  // written once, before torch_loaded_
};

}  // namespace memprof::recorder
