// Building blocks for several kinds of sites.
#pragma once

#include <cmath>
#include <deque>
#include <functional>
#include <memory>

#include "studies/leakbench/cases.h"

namespace memprof::leakbench {

using Addresses = std::deque<std::uint64_t>;

inline void FreeAll(Site& site, Addresses* all) {
  for (const std::uint64_t address : *all) site.Free(address);
  all->clear();
}

// One block at a time, replaced by the next one; size(step) in units, <= 0 = unchanged.
template <typename Size>
LifeAndSlope Replaced(Draw& draw, double slope, Size size) {
  const std::uint64_t bytes = draw.bytes;
  auto held = std::make_shared<Addresses>();
  return {[=](Site& site, int step) mutable {
            if (step < 0) return;
            const int units = size(step);
            if (units <= 0) return;
            const std::uint64_t fresh = site.Alloc(bytes * static_cast<std::uint64_t>(units));
            FreeAll(site, held.get());
            held->push_back(fresh);
            site.Touch(fresh);
          },
          slope * static_cast<double>(bytes)};
}

// Keeps a block forever whenever size(step) > 0, of that many units.
template <typename Size>
LifeAndSlope KeptForEver(Draw& draw, double slope, Size size) {
  const std::uint64_t bytes = draw.bytes;
  return {[=](Site& site, int step) mutable {
            if (step < 0) return;
            if (const int units = size(step); units > 0)
              site.Alloc(bytes * static_cast<std::uint64_t>(units));
          },
          slope * static_cast<double>(bytes)};
}

// Keeps a block whenever key(step) is a new key; all are read in every step.
template <typename Key, typename Size>
LifeAndSlope KeyedCache(Draw& draw, int uses, Key key, Size size) {
  const std::uint64_t bytes = draw.bytes;
  auto entries = std::make_shared<std::deque<std::pair<int, std::uint64_t>>>();
  return {[=](Site& site, int step) mutable {
    if (step < 0) return;
    for (int use = 0; use < uses; ++use) {
      const int wanted = key(step);
      std::uint64_t address = 0;
      for (const auto& [known, at] : *entries)
        if (known == wanted) address = at;
      if (address == 0) {
        address = site.Alloc(bytes * static_cast<std::uint64_t>(size(wanted)));
        entries->push_back({wanted, address});
      }
      site.Touch(address);
    }
  }};
}

}  // namespace memprof::leakbench
