// Joins the marks of allocations by their text.
#include "analysis/leaks/holders.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_split.h"

namespace memprof::analysis {
namespace {

using Key = std::pair<std::uint32_t, std::uint64_t>;  // label and kind

HolderKind KindOf(std::uint64_t value) {
  return value <= static_cast<std::uint64_t>(HolderKind::kCycle) ? static_cast<HolderKind>(value)
                                                                 : HolderKind::kUnknown;
}

// A line each: the path, the root, the objects between them.
void Split(std::string_view text, Holder* holder) {
  std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  if (!lines.empty()) holder->path = std::move(lines[0]);  // none of an empty text
  if (lines.size() > 1) holder->root = std::move(lines[1]);
  for (std::size_t i = 2; i < lines.size(); ++i) holder->chain.push_back(std::move(lines[i]));
}

}  // namespace

std::string_view HolderKindName(HolderKind kind) {
  switch (kind) {
    case HolderKind::kPython:
      return "python";
    case HolderKind::kAutograd:
      return "autograd";
    case HolderKind::kCpp:
      return "c++";
    case HolderKind::kCycle:
      return "cycle";
    case HolderKind::kUnknown:
      break;
  }
  return "unknown";
}

Holders::Holders(const Session& session) : session_(session) {
  const EventTable& events = session.events();
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.op(i) != Op::kHolders) continue;
    ends_.resize(session.processes().size());
    ends_[session.ProcessOf(EventId(i))].push_back(EventId(i));
  }
}

std::optional<std::uint64_t> Holders::GarbageAt(std::span<const AllocationId> alive,
                                                EventId at) const {
  const EventTable& events = session_.events();
  bool looked = false;
  for (const std::vector<EventId>& ends : ends_) looked |= !ends.empty() && ends.front() <= at;
  if (!looked) return std::nullopt;
  std::uint64_t bytes = 0;
  for (const AllocationId id : alive) {
    std::ptrdiff_t last = -1;
    bool garbage = false;
    for (const EventId mark : session_.Marks(id)) {
      if (at < mark) break;
      if (events.op(mark.value) != Op::kHeld) continue;
      const bool cycle = KindOf(events.aux0(mark.value)) == HolderKind::kCycle;
      garbage = LookOf(mark) == last ? garbage && cycle : cycle;
      last = LookOf(mark);
    }
    if (garbage) bytes += session_.record(id).bytes;
  }
  return bytes;
}

std::ptrdiff_t Holders::LookOf(EventId mark) const {
  const std::vector<EventId>& ends = ends_[session_.ProcessOf(mark)];
  return std::lower_bound(ends.begin(), ends.end(), mark) - ends.begin();
}

std::vector<Holder> Holders::InStepsOf(std::span<const AllocationId> ids,
                                       std::uint32_t process) const {
  const std::span<const StepInfo> steps = session_.StepsOf(process);
  return Of(ids, steps.empty() ? EventId() : steps.back().event);
}

std::vector<Holder> Holders::Of(std::span<const AllocationId> ids, EventId until) const {
  if (ends_.empty()) return {};
  const EventTable& events = session_.events();
  std::map<Key, Holder> holders;
  for (const AllocationId id : ids) {
    std::map<Key, std::ptrdiff_t> found;  // and in which look
    std::ptrdiff_t last = -1;
    bool last_is_late = false;
    for (const EventId mark : session_.Marks(id)) {
      if (events.op(mark.value) != Op::kHeld) continue;
      const bool is_late = until.valid() && until < mark;
      if (is_late && last >= 0 && !last_is_late) break;
      last = LookOf(mark);
      last_is_late = is_late;
      found[{events.label(mark.value), events.aux0(mark.value)}] = last;
    }
    for (const auto& [key, look] : found) {
      if (look != last) continue;
      Holder& holder = holders[key];
      holder.bytes += session_.record(id).bytes;
      ++holder.blocks;
    }
  }
  std::vector<Holder> result;
  for (auto& [key, holder] : holders) {
    Split(session_.string(StringId(key.first)), &holder);
    holder.kind = KindOf(key.second);
    result.push_back(std::move(holder));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace memprof::analysis
