// Random call stacks, and their costs by plain loops.
#pragma once

#include <random>

#include "analysis/peak/call_tree.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

using Path = std::vector<std::string>;  // outermost first

// The reference: every stack separately.
struct PlainStack {
  Path path;
  CallCost cost;
};

inline void Allocate(LogBuilder& log, int stack, std::uint64_t bytes) {
  static std::uint64_t address = 0x10000;
  log.Alloc(Layer::kLinear, address += 0x100000, bytes, {.stack = stack});
}

// A few functions in any order, so that most stacks contain one twice.
inline std::shared_ptr<const Session> RandomStacks(std::uint32_t seed) {
  std::mt19937 random(seed);
  LogBuilder log;
  for (int i = 0; i < 120; ++i) {
    std::vector<std::string> frames;
    const std::size_t depth = random() % 8;
    for (std::size_t d = 0; d < depth; ++d)
      frames.push_back(std::string(1, static_cast<char>('a' + random() % 5)) +
                       " (f.cc:" + std::to_string(random() % 3 + 1) + ")");
    const int stack = depth == 0 ? 0 : log.Stack(frames);
    for (std::uint32_t n = random() % 3 + 1; n > 0; --n) Allocate(log, stack, random() % 1000 + 1);
  }
  return LoadLog(log);
}

inline std::vector<PlainStack> Plain(const Session& session, Symbols& symbols,
                                     const SiteQuery& query) {
  std::vector<PlainStack> stacks;
  for (const Site& site : FindSites(session, query)) {
    PlainStack plain{{}, {site.bytes, site.blocks}};
    for (const SourceFrame& frame : symbols.ResolveStack(site.stack))
      plain.path.insert(plain.path.begin(), frame.function);
    if (plain.path.empty()) plain.path = {"(no call stack)"};
    stacks.push_back(std::move(plain));
  }
  return stacks;
}

struct Made {
  std::shared_ptr<const Session> session;
  std::vector<PlainStack> plain;
  std::shared_ptr<const CallStacks> stacks;
};

inline Made Make(std::uint32_t seed) {
  Made made{RandomStacks(seed), {}, nullptr};
  if (made.session == nullptr) return made;
  Symbols symbols(made.session);
  made.plain = Plain(*made.session, symbols, {});
  made.stacks =
      std::make_shared<const CallStacks>(*made.session, symbols, FindSites(*made.session, {}));
  return made;
}

}  // namespace memprof::analysis::testing
