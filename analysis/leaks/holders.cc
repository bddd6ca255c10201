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

// Those of one allocation, by the last look that found it.
std::vector<Holders::Key> Holders::KeysOf(AllocationId id) const {
  const EventTable& events = session_.events();
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
  std::vector<Key> keys;
  for (const auto& [key, look] : found)
    if (look == last) keys.push_back(key);
  return keys;
}

std::vector<Holder> Holders::Of(std::span<const AllocationId> ids) const {
  if (!any_) return {};
  struct Row {
    Key first;  // several keys may have the same text
    Holder holder;
  };
  std::map<std::pair<std::string, std::uint64_t>, Row> rows;  // by text and kind
  std::map<Key, Row*> known;
  for (const AllocationId id : ids) {
    std::set<Row*> held;
    for (const Key& key : KeysOf(id)) {
      Row*& row = known[key];
      if (row == nullptr) {
        const auto [at, fresh] = rows.try_emplace({TextOf(key), key.kind});
        row = &at->second;
        if (fresh || key < row->first) row->first = key;
      }
      held.insert(row);
    }
    for (Row* const row : held) {
      row->holder.bytes += session_.record(id).bytes;
      ++row->holder.blocks;
    }
  }
  std::vector<Row> sorted;
  for (auto& [text, row] : rows) {
    Split(text.first, &row.holder);
    row.holder.kind = KindOf(text.second);
    sorted.push_back(std::move(row));
  }
  std::sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) {
    return a.holder.bytes != b.holder.bytes ? a.holder.bytes > b.holder.bytes : a.first < b.first;
  });
  std::vector<Holder> result;
  for (Row& row : sorted) result.push_back(std::move(row.holder));
  return result;
}

}  // namespace memprof::analysis
