// Keys of requests, and pairs of equal ones.
#include "analysis/footprint/internal/align.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"

namespace memprof::analysis {
namespace {

// The same as absl::HashOf, which Abseil lacks before 20211102.
template <typename... Values>
std::uint64_t HashOf(const Values&... values) {
  return absl::Hash<std::tuple<Values...>>{}(std::tuple<Values...>(values...));
}

std::uint64_t FrameKey(const Session& session, const Frame& frame) {
  const auto text = [&session](StringId id) { return std::string(session.string(id)); };
  if (frame.python) return HashOf(1, text(frame.function), text(frame.file), frame.line);
  if (frame.module >= session.modules().size()) return HashOf(2, frame.address);
  const ModuleInfo& module = session.modules()[frame.module];
  return HashOf(3, module.build_id.empty() ? module.path : module.build_id,
                frame.address - module.load_bias);
}

using ByKey = absl::flat_hash_map<RequestKeys::Key, std::uint32_t>;

// The same request in the step before or after, where the step has none of its site: two runs may
// be divided into steps at somewhat different places.
std::uint32_t InNextStep(const ByKey& index, const RequestKeys::Key& key) {
  if (index.contains({key.step, key.site, 0})) return kNoRequest;
  for (const std::int64_t step : {key.step + 1, key.step - 1}) {
    const auto found = index.find({step, key.site, key.occurrence});
    if (found != index.end()) return found->second;
  }
  return kNoRequest;
}

// Requests without a partner, by step.
using Left = std::map<std::int64_t, std::vector<std::uint32_t>>;

Left Unmatched(const RequestKeys& keys, const std::vector<bool>& matched) {
  Left left;
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    if (!matched[i]) left[keys[i].step].push_back(i);
  }
  return left;
}

}  // namespace

std::vector<std::uint64_t> StackKeys(const Session& session) {
  std::vector<std::uint64_t> frames(session.frame_count());
  for (std::uint32_t i = 0; i < frames.size(); ++i)
    frames[i] = FrameKey(session, session.frame(FrameId(i)));
  std::vector<std::uint64_t> keys(session.stack_count());
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    const StackId parent = session.StackParent(StackId(i));
    const FrameId frame = session.StackFrame(StackId(i));
    // A caller's node comes before those it calls.
    keys[i] = HashOf(parent.value < i ? keys[parent.value] : 0,
                     frame.value < frames.size() ? frames[frame.value] : 0);
  }
  return keys;
}

RequestKeys::RequestKeys(const Session& session, std::span<const EventId> requests) {
  const std::vector<std::uint64_t> stacks = StackKeys(session);
  absl::flat_hash_map<std::uint64_t, std::uint32_t> seen;  // in the step, by site
  std::int64_t step = -1;
  for (const EventId event : requests) {
    const StackId stack = session.events().stack(event.value);
    Key key;
    key.step = session.StepOf(event);
    key.site = stack.value < stacks.size() ? stacks[stack.value] : 0;
    if (key.step != step) seen.clear();
    step = key.step;
    key.occurrence = seen[key.site]++;
    keys_.push_back(key);
  }
}

std::vector<std::uint32_t> MatchRequests(const RequestKeys& base, const RequestKeys& other) {
  ByKey index;
  absl::flat_hash_set<std::int64_t> steps;
  for (std::uint32_t i = 0; i < other.size(); ++i) {
    index.try_emplace(other[i], i);
    steps.insert(other[i].step);
  }
  std::vector<std::uint32_t> match(base.size(), kNoRequest);
  std::vector<bool> matched(base.size()), taken(other.size());
  for (std::uint32_t i = 0; i < base.size(); ++i) {
    const auto found = index.find(base[i]);
    if (found == index.end() || taken[found->second]) continue;
    match[i] = found->second;
    matched[i] = taken[found->second] = true;
  }
  const Left left = Unmatched(base, matched), free = Unmatched(other, taken);
  // Steps that the other run did not reach are taken to be like its last one.
  absl::flat_hash_map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> last;
  for (std::uint32_t i = 0; i < other.size(); ++i)
    if (other[i].step >= 0) last[{other[i].site, other[i].occurrence}] = i;
  for (const auto& [step, requests] : left) {
    const auto partners = free.find(step);
    const bool in_order = partners != free.end() && partners->second.size() == requests.size();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (in_order) {
        match[requests[i]] = partners->second[i];
      } else if (step >= 0 && !steps.contains(step)) {
        const RequestKeys::Key& key = base[requests[i]];
        const auto found = last.find({key.site, key.occurrence});
        if (found != last.end()) match[requests[i]] = found->second;
      } else {
        match[requests[i]] = InNextStep(index, base[requests[i]]);
      }
    }
  }
  return match;
}

}  // namespace memprof::analysis
