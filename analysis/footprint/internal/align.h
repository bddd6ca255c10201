// Matches the requests of one run with those of another: by step, call site, and position among the
// site's requests of the step; never by address or time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// For each stack a number that is the same for the same code in every process: frames count by
// module (build-id, else path) and offset, or by Python position. Indexed by StackId.
std::vector<std::uint64_t> StackKeys(const Session& session);

// The requests of one device of one run, in order.
class RequestKeys {
 public:
  // By the events that made the requests, served or failed.
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

// For each request of `base` the matching one of `other`, or kNoRequest: the one with the same key.
// The remaining requests of a step are paired in order, if both runs have the same number of them.
// For steps that `other` did not reach, the same site in its last step; for sites that a step of
// `other` does not have, the same in the step after or before.
std::vector<std::uint32_t> MatchRequests(const RequestKeys& base, const RequestKeys& other);

}  // namespace memprof::analysis
