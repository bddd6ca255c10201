// Shared by tests of stacked curves: a session with the inputs of its groups.
#pragma once

#include <algorithm>

#include "analysis/filter/timeline_groups.h"
#include "analysis/store/allocation_set.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

using Line = TimelineStack::Line;

// Every third allocation.
inline std::shared_ptr<const AllocationSet> Thirds(const Session& session) {
  std::vector<bool> chosen(session.records().size());
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = i % 3 == 0;
  return std::make_shared<const AllocationSet>(std::move(chosen));
}

// A session with the inputs of its groups.
struct Loaded {
  explicit Loaded(const LogBuilder& log) : session(LoadLog(log)) {
    if (session == nullptr) return;
    symbols = std::make_unique<Symbols>(session);
    categories = std::make_unique<Categories>(*session, symbols.get());
    kinds = BuildKindStacks(session);
  }
  TimelineQuery Query(TimelineGrouping grouping, bool filtered) const {
    return {grouping, filtered ? Thirds(*session) : nullptr, categories.get(), symbols.get()};
  }
  const TimelineStack* KindsOf(int device) const {
    for (const auto& stack : kinds)
      if (stack->device() == device) return stack.get();
    return nullptr;
  }

  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;
  std::unique_ptr<Categories> categories;
  std::vector<std::shared_ptr<const TimelineStack>> kinds;
};

}  // namespace memprof::analysis::testing
