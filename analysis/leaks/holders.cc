// Joins the marks of allocations by their text.
#include "analysis/leaks/holders.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analysis/leaks/internal/native_holders.h"

namespace memprof::analysis {
namespace {

HolderKind KindOf(std::uint64_t value) {
  return value <= static_cast<std::uint64_t>(HolderKind::kCycle) ? static_cast<HolderKind>(value)
                                                                 : HolderKind::kUnknown;
}

// A line each: the path, the root, the objects between them.
void Split(std::string_view text, Holder* holder) {
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

struct Holders::Look {
  bool of_objects = false;     // of Python, not of host memory
  std::ptrdiff_t number = -1;  // in the order of time
  auto operator<=>(const Look&) const = default;
};

Holders::Holders(const Session& session) : session_(session) {
  const EventTable& events = session.events();
  NativeHolders native(session);
  std::set<std::pair<std::uint32_t, std::uint64_t>> places;
  for (std::vector<std::vector<EventId>>& ends : ends_) ends.resize(session.processes().size());
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const Op op = events.op(i);
    if (op == Op::kHolders || op == Op::kHostScan)
      ends_[op == Op::kHostScan][session.ProcessOf(EventId(i))].push_back(EventId(i));
    if (op != Op::kHeld) continue;
    any_ = true;
    if (events.aux1(i) != 0) places.insert({events.label(i), events.aux1(i)});
  }
  for (const auto& [label, place] : places) native.Add(session.string(StringId(label)), place);
  for (const auto& [label, place] : places)
    named_[{label, place}] = native.Named(session.string(StringId(label)), place);
}

Holders::Look Holders::LookOf(EventId mark) const {
  const bool of_scan = session_.events().layer(mark.value) != Layer::kUnspecified;
  const std::vector<EventId>& ends = ends_[of_scan][session_.ProcessOf(mark)];
  return {!of_scan, std::lower_bound(ends.begin(), ends.end(), mark) - ends.begin()};
}

// What the text of a holder depends on.
struct Holders::Key {
  std::uint32_t label = 0;
  std::uint64_t kind = 0, place = 0;  // aux0, aux1
  StackId asked_for;                  // with this stack; only where Python does not know the holder
  auto operator<=>(const Key&) const = default;
};

std::string Holders::TextOf(const Key& key) const {
  if (const auto named = named_.find({key.label, key.place}); named != named_.end())
    return named->second;
  std::string text(session_.string(StringId(key.label)));
  if (const std::string library = AskingLibrary(session_, key.asked_for); !library.empty())
    text.insert(std::min(text.find('\n'), text.size()),
                absl::StrCat("; `", library, "` asked for it"));
  return text;
}

std::vector<Holder> Holders::Of(std::span<const AllocationId> ids) const {
  if (!any_) return {};
  const EventTable& events = session_.events();
  std::map<Key, Holder> counts;
  for (const AllocationId id : ids) {
    std::map<Key, Look> found;
    Look last;
    for (const EventId mark : session_.Marks(id)) {
      if (events.op(mark.value) != Op::kHeld) continue;
      const Look look = LookOf(mark);
      Key key{events.label(mark.value), events.aux0(mark.value), events.aux1(mark.value), {}};
      if (look.of_objects && KindOf(key.kind) == HolderKind::kCpp)
        key.asked_for = session_.record(id).stack;
      last = std::max(last, look);
      found[key] = look;
    }
    for (const auto& [key, look] : found) {
      if (look != last) continue;
      Holder& holder = counts[key];
      holder.bytes += session_.record(id).bytes;
      ++holder.blocks;
    }
  }
  std::map<std::pair<std::string, std::uint64_t>, Holder> holders;  // by text and kind
  for (const auto& [key, count] : counts) {
    Holder& holder = holders[{TextOf(key), key.kind}];
    holder.bytes += count.bytes;
    holder.blocks += count.blocks;
  }
  std::vector<Holder> result;
  for (auto& [key, holder] : holders) {
    Split(key.first, &holder);
    holder.kind = KindOf(key.second);
    result.push_back(std::move(holder));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace memprof::analysis
