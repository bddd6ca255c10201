// Joins the marks of allocations by their text.
#include "analysis/leaks/holders.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_split.h"

namespace memprof::analysis {
namespace {

HolderKind KindOf(std::uint64_t value) {
  return value <= static_cast<std::uint64_t>(HolderKind::kCycle) ? static_cast<HolderKind>(value)
                                                                 : HolderKind::kUnknown;
}

// A line each: the path, the root, the objects between them.
void Split(std::string_view text, Holder* holder) {
  if (text.empty()) return;  // of no text at all, Abseil makes no line
  std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  holder->path = std::move(lines[0]);
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

std::vector<Holders::Told> Holders::LastOf(AllocationId id) const {
  if (ends_.empty()) return {};
  const EventTable& events = session_.events();
  std::map<Told, std::ptrdiff_t> found;  // and in which look
  std::ptrdiff_t last = -1;
  for (const EventId mark : session_.Marks(id)) {
    if (events.op(mark.value) != Op::kHeld) continue;
    const std::vector<EventId>& ends = ends_[session_.ProcessOf(mark)];
    const auto look = std::lower_bound(ends.begin(), ends.end(), mark) - ends.begin();
    last = std::max(last, look);
    found[{events.label(mark.value), events.aux0(mark.value)}] = look;
  }
  std::vector<Told> told;
  for (const auto& [one, look] : found)
    if (look == last) told.push_back(one);
  return told;
}

Holder Holders::Words(const Told& told) const {
  Holder holder;
  Split(session_.string(StringId(told.first)), &holder);
  holder.kind = KindOf(told.second);
  return holder;
}

std::size_t Holders::LooksDuring(AllocationId id) const {
  const AllocationRecord& record = session_.record(id);
  if (ends_.empty() || !record.birth.valid()) return 0;
  const std::vector<EventId>& ends = ends_[session_.ProcessOf(record.birth)];
  const auto after = std::lower_bound(ends.begin(), ends.end(), record.birth);
  const auto until = record.alive() || !record.death.valid()
                         ? ends.end()
                         : std::lower_bound(ends.begin(), ends.end(), record.death);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, until - after));
}

std::vector<Holder> Holders::Of(std::span<const AllocationId> ids) const {
  std::map<Told, Holder> holders;
  for (const AllocationId id : ids) {
    for (const Told& told : LastOf(id)) {
      Holder& holder = holders[told];
      holder.bytes += session_.record(id).bytes;
      ++holder.blocks;
    }
  }
  std::vector<Holder> result;
  for (auto& [told, figures] : holders) {
    result.push_back(Words(told));
    result.back().bytes = figures.bytes;
    result.back().blocks = figures.blocks;
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace memprof::analysis
