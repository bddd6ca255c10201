// Groups ranges by name.
#include "analysis/steps/internal/ranges.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

// `word` stands in `name`, which is "trainStep" or "train_step", but not "footsteps".
bool HasWord(std::string_view name, std::string_view word) {
  const std::string lower = Lower(name);
  for (std::size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
    const auto upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
    const bool begins = at == 0 || !letter(name[at - 1]) || upper(name[at]);
    const bool ends = end == name.size() || !letter(name[end]) || upper(name[end]);
    if (begins && ends) return true;
  }
  return false;
}

// Ranges of one name and thread.
struct Group {
  std::vector<std::size_t> rows;
  std::vector<std::int64_t> numbers;
  bool nested = false;  // in itself
  TimeNs end = 0;       // of the last one
};

RepeatedRange Describe(const Session& session, const std::string& name, Group group) {
  RepeatedRange repeated;
  repeated.name = name;
  repeated.names_step = NamesStep(name);
  repeated.names_optimizer = NamesOptimizer(name);
  const auto ranges = session.ranges();
  double inside = 0;
  for (const std::size_t row : group.rows)
    inside += static_cast<double>(ranges[row].end - ranges[row].begin);
  const double span =
      static_cast<double>(ranges[group.rows.back()].end - ranges[group.rows.front()].begin);
  repeated.covered = span > 0 ? std::min(1.0, inside / span) : 0;
  const bool ascend = std::adjacent_find(group.numbers.begin(), group.numbers.end(),
                                         std::greater_equal<>()) == group.numbers.end();
  if (ascend && group.numbers.front() >= 0) repeated.numbers = std::move(group.numbers);
  repeated.rows = std::move(group.rows);
  return repeated;
}

}  // namespace

std::string WithoutNumbers(std::string_view name, std::int64_t* number) {
  constexpr std::size_t kMaxDigits = 18;  // digits that fit
  std::string text;
  *number = -1;
  for (std::size_t i = 0; i < name.size();) {
    if (!IsDigit(name[i])) {
      text += name[i++];
      continue;
    }
    const std::size_t begin = i;
    std::int64_t value = 0;
    for (; i < name.size() && IsDigit(name[i]); ++i)
      if (i - begin < kMaxDigits) value = value * 10 + (name[i] - '0');
    *number = i - begin <= kMaxDigits ? value : -1;
    text += '#';
  }
  return text;
}

bool NamesOptimizer(std::string_view name) {
  const std::string lower = Lower(name);
  return lower.find("optim") != std::string::npos || HasWord(name, "adam") ||
         HasWord(name, "adamw") || HasWord(name, "sgd");
}

bool NamesStep(std::string_view name) {
  if (NamesOptimizer(name)) return false;
  for (const std::string_view word : {"step", "iteration", "iter", "batch"})
    if (HasWord(name, word)) return true;
  return false;
}

std::vector<RepeatedRange> FindRepeatedRanges(const Session& session) {
  // A session interns names, so each is parsed once.
  struct Name {
    std::uint32_t text = 0;
    std::int64_t number = -1;
  };
  std::unordered_map<std::uint32_t, Name> names;
  std::map<std::string, std::uint32_t> texts;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Group> groups;  // by text and thread
  const auto ranges = session.ranges();
  for (std::size_t row = 0; row < ranges.size(); ++row) {
    const RangeInfo& range = ranges[row];
    if (!range.name.valid()) continue;
    const auto [it, fresh] = names.try_emplace(range.name.value);
    Name& name = it->second;
    if (fresh) {
      std::string text = WithoutNumbers(session.string(range.name), &name.number);
      name.text = texts.try_emplace(std::move(text), static_cast<std::uint32_t>(texts.size()))
                      .first->second;
    }
    Group& group = groups[{name.text, range.thread}];
    group.nested |= !group.rows.empty() && range.begin < group.end;
    group.rows.push_back(row);
    group.numbers.push_back(name.number);
    group.end = std::max(group.end, range.end);
  }
  std::vector<std::string_view> text_of(texts.size());
  for (const auto& [text, id] : texts) text_of[id] = text;
  std::map<std::uint32_t, RepeatedRange> by_name;
  for (auto& [key, group] : groups) {
    if (group.nested || group.rows.size() < 2) continue;
    RepeatedRange repeated = Describe(session, std::string(text_of[key.first]), std::move(group));
    if (repeated.rows.size() < 3 && !repeated.names_step) continue;
    RepeatedRange& best = by_name[key.first];
    if (repeated.rows.size() > best.rows.size()) best = std::move(repeated);
  }
  std::vector<RepeatedRange> all;
  for (auto& [text, repeated] : by_name) all.push_back(std::move(repeated));
  std::stable_sort(all.begin(), all.end(), [](const RepeatedRange& a, const RepeatedRange& b) {
    if (a.names_step != b.names_step) return a.names_step;
    return a.covered > b.covered;
  });
  return all;
}

}  // namespace memprof::analysis
