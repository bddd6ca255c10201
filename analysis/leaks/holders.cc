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
  if (text.empty()) return;  // of no text at all, Abseil makes no line
  std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  holder->path = std::move(lines[0]);
  if (lines.size() > 1) holder->root = std::move(lines[1]);
  for (std::size_t i = 2; i < lines.size(); ++i) holder->chain.push_back(std::move(lines[i]));
}

bool IsEcho(std::string_view path) {
  constexpr std::string_view kEchoes[] = {"global `last_traceback`, sys", "global `last_exc`, sys",
                                          "global `last_value`, sys", ".user_ns_hidden",
                                          " of the bound method "};
  return std::any_of(std::begin(kEchoes), std::end(kEchoes), [path](std::string_view echo) {
    return path.find(echo) != std::string_view::npos;
  });
}

// What holds most first, and last what only repeats a variable.
bool ComesBefore(const Holder& a, const Holder& b) {
  const bool echo = IsEcho(a.path), other = IsEcho(b.path);
  return echo != other ? other : a.bytes > b.bytes;
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
  NativeHolders native(session);
  std::set<std::pair<std::uint32_t, std::uint64_t>> places;
  for (std::vector<std::vector<EventId>>& ends : ends_) ends.resize(session.processes().size());
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const Op op = events.op(i);
    if (op == Op::kHolders || op == Op::kHostScan)
      ends_[op == Op::kHostScan][session.ProcessOf(EventId(i))].push_back(EventId(i));
    if (op != Op::kHeld) continue;
    if (events.aux1(i) != 0) places.insert({events.label(i), events.aux1(i)});
  }
  for (const auto& [label, place] : places) native.Add(session.string(StringId(label)), place);
  for (const auto& [label, place] : places)
    named_[{label, place}] = native.Named(session.string(StringId(label)), place);
}

bool Holders::any() const {
  for (std::uint32_t process = 0; process < ends_[0].size(); ++process)
    if (LookedAt(process)) return true;
  return false;
}

bool Holders::LookedAt(std::uint32_t process) const {
  return !ends_[0][process].empty() || !ends_[1][process].empty();
}

Holders::Look Holders::LookOf(EventId mark, EventId until) const {
  const bool of_scan = session_.events().layer(mark.value) != Layer::kUnspecified;
  const std::vector<EventId>& ends = ends_[of_scan][session_.ProcessOf(mark)];
  return {!of_scan, !until.valid() || mark < until,
          std::lower_bound(ends.begin(), ends.end(), mark) - ends.begin()};
}

Holders::Look Holders::LastLookAt(AllocationId id, EventId until) const {
  Look last;
  for (const EventId mark : session_.Marks(id))
    if (session_.events().op(mark.value) == Op::kHeld) last = std::max(last, LookOf(mark, until));
  return last;
}

std::vector<Holders::Told> Holders::ToldOf(AllocationId id, EventId until) const {
  const EventTable& events = session_.events();
  const Look last = LastLookAt(id, until);
  std::set<Told> found;
  for (const EventId mark : session_.Marks(id)) {
    if (events.op(mark.value) != Op::kHeld || LookOf(mark, until) != last) continue;
    Told told{events.label(mark.value), events.aux0(mark.value), events.aux1(mark.value), {}};
    if (last.of_objects && KindOf(told.kind) == HolderKind::kCpp)
      told.asked_for = session_.record(id).stack;
    found.insert(told);
  }
  return {found.begin(), found.end()};
}

std::string Holders::TextOf(const Told& told) const {
  if (const auto named = named_.find({told.label, told.place}); named != named_.end())
    return named->second;
  std::string text(session_.string(StringId(told.label)));
  if (const std::string library = AskingLibrary(session_, told.asked_for); !library.empty())
    text.insert(std::min(text.find('\n'), text.size()),
                absl::StrCat("; `", library, "` asked for it"));
  return text;
}

Holder Holders::Words(const Told& told) const {
  Holder holder;
  Split(TextOf(told), &holder);
  holder.kind = KindOf(told.kind);
  return holder;
}

std::vector<Holder> Holders::Of(std::span<const AllocationId> ids, EventId until) const {
  struct Row {
    Told first;  // several may have the same text
    Holder holder;
  };
  std::map<std::pair<std::string, std::uint64_t>, Row> rows;  // by text and kind
  std::map<Told, Row*> known;
  for (const AllocationId id : ids) {
    std::set<Row*> held;
    for (const Told& told : ToldOf(id, until)) {
      Row*& row = known[told];
      if (row == nullptr) {
        const auto [at, fresh] = rows.try_emplace({TextOf(told), told.kind});
        row = &at->second;
        if (fresh) row->holder = Words(told);
        if (fresh || told < row->first) row->first = told;
      }
      held.insert(row);
    }
    for (Row* const row : held) {
      row->holder.bytes += session_.record(id).bytes;
      ++row->holder.blocks;
    }
  }
  std::vector<Row> sorted;
  for (auto& [text, row] : rows) sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) {
    if (ComesBefore(a.holder, b.holder)) return true;
    return !ComesBefore(b.holder, a.holder) && a.first < b.first;
  });
  std::vector<Holder> result;
  for (Row& row : sorted) result.push_back(std::move(row.holder));
  return result;
}

std::optional<WithoutHolder> Holders::RestOf(std::span<const AllocationId> ids) const {
  std::optional<WithoutHolder> rest;
  for (const AllocationId id : ids) {
    const AllocationRecord& record = session_.record(id);
    if (!record.birth.valid() || !LookedAt(session_.ProcessOf(record.birth))) continue;
    if (!rest) rest.emplace();
    if (LastLookAt(id, {}).number >= 0) continue;
    rest->bytes += record.bytes;
    ++rest->blocks;
  }
  return rest;
}

namespace {

// "`cache['a']` (global `cache`)" as "`cache[…]` (global `cache`)": without the n-th entry from the
// end of the first expression; kAtEnd: without the last, if it ends with that. "" if it has none.
constexpr int kAtEnd = -1;
std::string WithoutEntry(const std::string& path, int nth) {
  const std::size_t begin = path.find('`');
  const std::size_t end = begin == std::string::npos ? begin : path.find('`', begin + 1);
  if (end == std::string::npos || (nth == kAtEnd && path[end - 1] != ']')) return "";
  nth = std::max(nth, 0);
  std::size_t close = 0;
  int open = 0;
  for (std::size_t i = end; --i > begin;) {
    if (path[i] == ']' && open++ == 0) close = i;
    if (path[i] != '[' || open == 0 || --open > 0 || nth-- > 0) continue;
    return std::string(path).replace(i + 1, close - i - 1, "…");
  }
  return "";
}

// Makes rows that differ in that entry alone one, where there are so many.
void JoinEntries(int nth, int least, std::vector<Holder>* holders) {
  std::map<std::string, int> entries;  // by path
  for (const Holder& holder : *holders) ++entries[WithoutEntry(holder.path, nth)];
  std::map<std::string, std::size_t> rows;
  std::vector<Holder> sums;
  for (Holder& holder : *holders) {
    std::string path = WithoutEntry(holder.path, nth);
    if (path.empty() || entries[path] < least) path = holder.path;
    const auto [at, fresh] = rows.try_emplace(path, sums.size());
    if (fresh) {
      sums.push_back(std::move(holder));
      sums.back().path = std::move(path);
      continue;
    }
    sums[at->second].bytes += holder.bytes;
    sums[at->second].blocks += holder.blocks;
  }
  *holders = std::move(sums);
}

}  // namespace

std::vector<Holder> SumUp(const std::vector<Holder>& holders) {
  constexpr int kMostEntries = 8;
  constexpr int kMany = 4;  // two or three names are worth more than a sum
  std::vector<Holder> sums = holders;
  JoinEntries(kAtEnd, 2, &sums);
  for (int nth = 0; nth < kMostEntries; ++nth) JoinEntries(nth, kMany, &sums);
  std::stable_sort(sums.begin(), sums.end(), ComesBefore);
  return sums;
}

EventId Holders::LastStepOf(std::uint32_t process) const {
  const std::span<const StepInfo> steps = session_.StepsOf(process);
  return steps.empty() ? EventId() : steps.back().event;
}

std::vector<AllocationId> Holders::FoundLast(std::span<const AllocationId> ids) const {
  Look last;
  std::vector<AllocationId> found;
  for (const AllocationId id : ids) {
    const Look look = LastLookAt(id, {});
    if (look.number < 0 || look < last) continue;
    if (last < look) found.clear();
    last = look;
    found.push_back(id);
  }
  return found;
}

std::optional<std::uint64_t> Holders::GarbageAt(std::span<const AllocationId> alive,
                                                EventId at) const {
  const EventTable& events = session_.events();
  bool looked = false;
  for (const std::vector<EventId>& ends : ends_[0]) looked |= !ends.empty() && ends.front() <= at;
  if (!looked) return std::nullopt;
  std::uint64_t bytes = 0;
  for (const AllocationId id : alive) {
    Look last;
    bool garbage = false;
    for (const EventId mark : session_.Marks(id)) {
      if (at < mark) break;
      if (events.op(mark.value) != Op::kHeld || !LookOf(mark, {}).of_objects) continue;
      const bool cycle = KindOf(events.aux0(mark.value)) == HolderKind::kCycle;
      garbage = LookOf(mark, {}) == last ? garbage && cycle : cycle;
      last = LookOf(mark, {});
    }
    if (garbage) bytes += session_.record(id).bytes;
  }
  return bytes;
}

std::size_t Holders::LooksDuring(AllocationId id) const {
  const AllocationRecord& record = session_.record(id);
  if (!record.birth.valid()) return 0;
  std::size_t looks = 0;
  for (const std::vector<std::vector<EventId>>& of_processes : ends_) {
    const std::vector<EventId>& ends = of_processes[session_.ProcessOf(record.birth)];
    const auto after = std::lower_bound(ends.begin(), ends.end(), record.birth);
    const auto until = record.alive() || !record.death.valid()
                           ? ends.end()
                           : std::lower_bound(ends.begin(), ends.end(), record.death);
    looks += static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, until - after));
  }
  return looks;
}

std::shared_ptr<const Holders> HoldersOf(const Session& session) {
  return session.facts().Get<Holders>([&] { return Holders(session); });
}

}  // namespace memprof::analysis
