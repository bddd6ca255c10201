// Reads updates from the order of passes and from the lives of what backward passes make.
#include "analysis/steps/internal/updates.h"

#include <algorithm>
#include <map>
#include <set>

namespace memprof::analysis {
namespace {

// A run of the optimizer, up to the position `end`, which is not part of it.
struct Work {
  std::uint32_t end = 0;
  StackId by;  // its caller
};

// By position: whether what is allocated there is freed before the next backward pass.
std::vector<bool> FreedBeforeNextPass(const Session& session, const StepStream& stream,
                                      const std::vector<Role>& roles) {
  std::vector<bool> freed(roles.size());
  EventId pass(static_cast<std::uint32_t>(session.events().size()));  // the next
  for (std::size_t p = roles.size(); p-- > 0;) {
    if (roles[p] == Role::kBackward) pass = stream.births[p];
    const AllocationId id = session.events().allocation(stream.births[p].value);
    const EventId death = id.valid() ? session.record(id).death : EventId();
    freed[p] = death.valid() && death < pass;
  }
  return freed;
}

// Every run of the optimizer after a backward pass that is seen. None if only some are: many
// optimizers allocate their state at the first run, and nothing later.
std::vector<Work> OptimizerWork(const Session& session, const StackRoles& stacks,
                                const StepStream& stream, const std::vector<Role>& roles) {
  std::vector<Work> all;
  // Number of backward passes; of those since the optimizer's last run.
  std::size_t passes = 0, unanswered = 0;
  bool in_pass = false, works = false, temporaries = false;
  const std::vector<bool> freed = FreedBeforeNextPass(session, stream, roles);
  for (std::uint32_t p = 0; p < roles.size(); ++p) {
    const bool optimizes = roles[p] == Role::kOptimizer;
    if (roles[p] == Role::kBackward && !in_pass) {
      ++passes;
      ++unanswered;
    }
    in_pass = roles[p] == Role::kBackward;
    if (optimizes && unanswered > 0) {
      const StackId stack = session.events().stack(stream.births[p].value);
      all.push_back({.by = stacks.optimizer_caller[stack.value]});
      works = true;
      unanswered = 0;
    }
    if (works && optimizes) {
      all.back().end = p + 1;
      temporaries |= freed[p];
    }
    if (in_pass) works = false;
  }
  const bool state_alone = !temporaries && all.size() * 2 < passes;
  if (unanswered * 2 > passes || state_alone) all.clear();
  return all;
}

// One of several alternating optimizers is the leader: at first, of those that ran before any ran
// twice, the last one; later, one that runs three times without it, as in a second stage.
std::vector<std::uint32_t> LeadersWork(const std::vector<Work>& all) {
  constexpr std::size_t kTakesOver = 3;
  StackId leader;
  std::set<StackId> known;
  for (const Work& work : all) {
    if (!known.insert(work.by).second) break;
    leader = work.by;
  }
  std::vector<std::uint32_t> ends;
  std::map<StackId, std::vector<std::uint32_t>> others;  // their work since the leader's
  for (const Work& work : all) {
    std::vector<std::uint32_t>& own = others[work.by];
    own.push_back(work.end);
    if (work.by != leader && own.size() < kTakesOver) continue;
    leader = work.by;
    ends.insert(ends.end(), own.begin(), own.end());
    others.clear();
  }
  return ends;
}

// The first step begins like the others; set-up precedes it.
std::uint32_t FirstBegin(const TokenStream& stream, const std::vector<Role>& roles,
                         const std::vector<std::uint32_t>& others, std::uint32_t first_pass) {
  std::map<std::uint32_t, std::size_t> openings;
  for (const std::uint32_t begin : others) ++openings[stream.token[begin]];
  const auto most =
      std::max_element(openings.begin(), openings.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::uint32_t first = 0;
  for (std::uint32_t p = 0; p < first_pass; ++p) {
    const bool forward = first == 0 && roles[p] == Role::kForward;
    if (forward || (most != openings.end() && stream.token[p] == most->first)) first = p;
  }
  return first;
}

// By position: the first one from there on at which no backward pass allocates.
std::vector<std::uint32_t> EndsOfPasses(const std::vector<Role>& roles) {
  std::vector<std::uint32_t> ends(roles.size());
  auto end = static_cast<std::uint32_t>(roles.size());
  for (std::uint32_t p = end; p-- > 0;) {
    if (roles[p] != Role::kBackward) end = p;
    ends[p] = end;
  }
  return ends;
}

// The positions after passes whose gradients are mostly freed at one point, without allocations in
// between: there they were used. Memory that a backward pass allocates is a gradient if it outlives
// the pass.
std::vector<std::uint32_t> GradientsUsed(const Session& session, const StepStream& stream,
                                         const std::vector<Role>& roles) {
  const auto size = static_cast<std::uint32_t>(roles.size());
  const std::vector<std::uint32_t> pass_ends = EndsOfPasses(roles);
  // By the position before which they are freed: the positions of their allocations.
  std::vector<std::vector<std::uint32_t>> dying(size + 1);
  std::vector<bool> gradient(size, false);
  for (std::uint32_t p = 0; p < size; ++p) {
    if (roles[p] != Role::kBackward) continue;
    const AllocationId id = session.events().allocation(stream.births[p].value);
    if (!id.valid()) continue;
    const EventId death = session.record(id).death;
    const auto gone = static_cast<std::uint32_t>(
        std::lower_bound(stream.births.begin(), stream.births.end(), death) -
        stream.births.begin());
    if (gone < pass_ends[p] && death.valid()) continue;
    gradient[p] = true;
    if (death.valid()) dying[gone].push_back(p);
  }
  std::vector<std::uint32_t> ends;
  std::uint32_t since = 0, last = 0;  // after the last update; after the last backward pass
  std::size_t live = 0, made = 0;     // gradients made since the last update
  for (std::uint32_t p = 0; p <= size; ++p) {
    const auto gone = static_cast<std::size_t>(std::count_if(
        dying[p].begin(), dying[p].end(), [&](std::uint32_t g) { return g >= since; }));
    if (gone * 2 > live && last > since) {
      ends.push_back(last);
      since = last;
      live = made = 0;
    } else {
      live -= gone;
    }
    if (p == size) break;
    if (roles[p] == Role::kBackward || roles[p] == Role::kOptimizer) last = p + 1;
    live += gradient[p] ? 1 : 0;
    made += gradient[p] ? 1 : 0;
  }
  if (made > 0) ends.push_back(last);  // the end of the last step was not seen
  return ends;
}

}  // namespace

Updates FindUpdates(const Session& session, const StackRoles& stacks, const StepStream& stream,
                    const std::vector<Role>& roles) {
  Updates updates;
  if (roles.empty()) return updates;
  const std::vector<std::uint32_t> forward = ForwardPasses(roles);
  const auto first_pass = static_cast<std::uint32_t>(
      std::find(roles.begin(), roles.end(), Role::kBackward) - roles.begin());
  if (first_pass == roles.size()) return updates;
  updates.passes = static_cast<std::uint32_t>(forward.size());
  std::vector<std::uint32_t> ends = LeadersWork(OptimizerWork(session, stacks, stream, roles));
  updates.by_optimizer = !ends.empty();
  if (ends.empty()) ends = GradientsUsed(session, stream, roles);
  // If gradients are never freed, it is not known when they are used.
  const bool certain = updates.by_optimizer || ends.size() > 1 || updates.passes == 1;
  if (ends.empty() || !certain) return updates;
  for (std::uint32_t& end : ends) {
    // The optimizer is not visible: the next step begins with its forward pass.
    const auto next = std::lower_bound(forward.begin(), forward.end(), end);
    if (!updates.by_optimizer && next != forward.end() && end < roles.size()) end = *next;
    if (end < roles.size()) updates.begins.push_back(end);
  }
  // The rest after the last update is a step only if it has a backward pass.
  const bool learns =
      std::find(roles.begin() + ends.back(), roles.end(), Role::kBackward) != roles.end();
  if (ends.back() < roles.size() && !learns) {
    const auto rest = roles.begin() + ends.back();
    if (std::find(rest, roles.end(), Role::kForward) != roles.end())
      updates.unfinished = updates.begins.back();
    updates.begins.pop_back();
  }
  updates.begins.insert(updates.begins.begin(),
                        FirstBegin(stream.tokens, roles, updates.begins, first_pass));
  return updates;
}

}  // namespace memprof::analysis
