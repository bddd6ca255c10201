// Derived facts about a session that several queries need (curves, peaks, samples, leaks), each
// computed once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace memprof::analysis {

// Facts by their type. Thread-safe: a thread that needs a fact which another one computes waits for
// it. Computing a fact may use others, but not in a circle.
class FactCache {
 public:
  // The fact of type `Fact`, which `find` computes; called once, by the first thread that needs it.
  template <typename Fact, typename Find>
  std::shared_ptr<const Fact> Get(Find find) {
    const std::shared_ptr<Slot> slot = SlotOf(&kKey<Fact>);
    const std::scoped_lock lock(slot->mutex);
    if (slot->fact == nullptr) slot->fact = std::make_shared<const Fact>(find());
    return std::static_pointer_cast<const Fact>(slot->fact);
  }

  // Removes a fact from the cache, for large ones that are rarely needed again. It is freed when
  // the last pointer to it is gone; a later Get computes it again.
  template <typename Fact>
  void Forget() {
    const std::scoped_lock lock(mutex_);
    slots_.erase(&kKey<Fact>);
  }
  void Clear() {
    const std::scoped_lock lock(mutex_);
    slots_.clear();
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const void> fact;
  };
  // Its address identifies the type.
  template <typename Fact>
  static constexpr char kKey = 0;

  std::shared_ptr<Slot> SlotOf(const char* key) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Slot>& slot = slots_[key];
    if (slot == nullptr) slot = std::make_shared<Slot>();
    return slot;
  }

  std::mutex mutex_;
  std::map<const char*, std::shared_ptr<Slot>> slots_;
};

}  // namespace memprof::analysis
