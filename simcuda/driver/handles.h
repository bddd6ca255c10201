// Live handles of one kind. A handle is the address of its object; stale or foreign handles are
// recognised and never dereferenced.
#ifndef SIMCUDA_DRIVER_HANDLES_H
#define SIMCUDA_DRIVER_HANDLES_H

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace memprof::simcuda {

template <class Object>
class Handles {
 public:
  void Add(std::shared_ptr<Object> object) {
    const std::unique_lock lock(mutex_);
    const void* key = object.get();
    live_.emplace(key, std::move(object));
  }
  std::shared_ptr<Object> Find(const void* handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = live_.find(handle);
    return found == live_.end() ? nullptr : found->second;
  }
  // Removes the handle; null if it is not live.
  std::shared_ptr<Object> Remove(const void* handle) {
    const std::unique_lock lock(mutex_);
    const auto found = live_.find(handle);
    if (found == live_.end()) return nullptr;
    auto object = std::move(found->second);
    live_.erase(found);
    return object;
  }
  template <class Predicate>
  std::vector<std::shared_ptr<Object>> RemoveIf(Predicate predicate) {
    std::vector<std::shared_ptr<Object>> removed;
    const std::unique_lock lock(mutex_);
    for (auto entry = live_.begin(); entry != live_.end();) {
      if (predicate(*entry->second)) {
        removed.push_back(std::move(entry->second));
        entry = live_.erase(entry);
      } else {
        ++entry;
      }
    }
    return removed;
  }
  template <class Predicate>
  std::vector<std::shared_ptr<Object>> Select(Predicate predicate) const {
    std::vector<std::shared_ptr<Object>> selected;
    const std::shared_lock lock(mutex_);
    for (const auto& [key, object] : live_) {
      if (predicate(*object)) selected.push_back(object);
    }
    return selected;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<Object>> live_;
};

// The table of one kind of handle; lives until the process ends.
template <class Object>
Handles<Object>& AllHandles() {
  static auto* handles = new Handles<Object>;
  return *handles;
}

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_HANDLES_H
