// Numbers for values.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace memprof::analysis {

// Numbers distinct values from 0, in the order of their first use.
template <typename Value>
class Numbering {
 public:
  std::uint32_t Of(Value value) {
    const auto [at, fresh] = numbers_.try_emplace(std::move(value), size());
    if (fresh) values_.push_back(&at->first);
    return at->second;
  }
  const Value& operator[](std::uint32_t number) const { return *values_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(values_.size()); }

 private:
  std::map<Value, std::uint32_t> numbers_;
  std::vector<const Value*> values_;
};

}  // namespace memprof::analysis
