// Which request of one run is which of another: by step, call site, and which of that site in the
// step; never by address or time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Numbers of call stacks that are the same for the same code in every process: of frames by module
// (build-id, else path) and offset in it, or by Python position. Indexed by StackId.
std::vector<std::uint64_t> StackKeys(const Session& session);

// The requests of one device of one run, in order.
class RequestKeys {
 public:
  // By the events that made them, served or refused.
  RequestKeys(const Session& session, std::span<const EventId> requests);

  struct Key {
    std::int64_t step = -1;
    std::uint64_t site = 0;
    std::uint32_t occurrence = 0;  // of that site in that step

    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.step, k.site, k.occurrence);
    }
  };
  std::size_t size() const { return keys_.size(); }
  const Key& operator[](std::size_t request) const { return keys_[request]; }

 private:
  std::vector<Key> keys_;
};

inline constexpr std::uint32_t kNoRequest = ~std::uint32_t{0};

// For each request of `base` that of `other` which is the same, or kNoRequest: the one with the
// same key; where some have none, those of one step that are left in both are paired in order if
// they are equally many; and for steps that `other` did not come to, the same site in its last
// step.
std::vector<std::uint32_t> MatchRequests(const RequestKeys& base, const RequestKeys& other);

}  // namespace memprof::analysis
