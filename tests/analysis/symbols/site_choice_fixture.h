// Sites chosen among stacks with given names.
#pragma once

#include "analysis/symbols/site_choice.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

struct NamedStack {
  Layer layer;
  std::vector<std::string> functions;  // innermost first
};

inline std::string Frame(const std::string& function) { return function + " (a.cc:1)"; }

// A log with one allocation for each stack, in that order.
inline std::shared_ptr<const Session> SessionOf(const std::vector<NamedStack>& stacks) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  for (const NamedStack& stack : stacks) {
    std::vector<std::string> frames;
    for (const std::string& function : stack.functions)
      frames.insert(frames.begin(), Frame(function));
    log.Alloc(stack.layer, address += 0x1000, 64, {.stack = log.Stack(frames)});
  }
  return LoadLog(log);
}

// The site of the `i`-th stack.
inline std::string SiteOf(const std::vector<NamedStack>& stacks, std::size_t i) {
  const auto session = SessionOf(stacks);
  return session ? Symbols(session).Site(session->allocations()[i].stack).function : "no log";
}

inline std::string TextOf(const SourceFrame& frame) {
  return frame.function + " (" + frame.shown_file + ":" + std::to_string(frame.line) + ")";
}

// The displayed sites of allocations with these stacks, given outermost first.
inline std::vector<std::string> SitesOf(const std::vector<std::vector<std::string>>& stacks) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  for (const auto& stack : stacks)
    log.Alloc(Layer::kLinear, address += 0x1000, 64, {.stack = log.Stack(stack)});
  const auto session = LoadLog(log);
  if (session == nullptr) return {};
  Symbols symbols(session);
  std::vector<std::string> sites;
  for (const AllocationRecord& record : session->records()) {
    const CallSite site = symbols.SiteOf(record.stack);
    sites.push_back(TextOf(site.user) + (site.in_library() ? ", in " + TextOf(site.library) : ""));
  }
  return sites;
}

inline std::vector<NamedStack> Linear(const std::vector<std::vector<std::string>>& stacks) {
  std::vector<NamedStack> linear;
  for (const auto& functions : stacks) linear.push_back({Layer::kLinear, functions});
  return linear;
}

}  // namespace memprof::analysis::testing
