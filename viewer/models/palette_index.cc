// The search for names.
#include "viewer/models/palette_index.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "analysis/categories/categories.h"
#include "analysis/diff/stacks.h"
#include "analysis/store/lifetime_walk.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/process_model.h"
#include "viewer/models/site_ranking.h"

namespace memprof::viewer {
namespace {

// How well a text matches. `grade` decides; of matches of one grade the weight, then `fine`.
struct Match {
  int grade = 0, fine = 0;  // 0 = no match
};
constexpr int kWholeWord = 4, kWordStart = 3, kInside = 2, kScattered = 1;

// Case is ignored letter by letter, so that positions stay.
char16_t Lower(char16_t c) {
  return c < 128 ? static_cast<char16_t>(c >= 'A' && c <= 'Z' ? c + 32 : c)
                 : static_cast<char16_t>(QChar::toLower(static_cast<char32_t>(c)));
}

std::u16string LowerOf(const QString& text) {
  std::u16string lower = text.toStdU16String();
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower;
}

bool IsLetter(char16_t c) { return c >= 128 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

std::uint64_t LettersOf(std::u16string_view text) {
  std::uint64_t letters = 0;
  for (const char16_t c : text) letters |= std::uint64_t{1} << (c % 64);
  return letters;
}

std::vector<std::u16string> WordsOf(const QString& query) {
  std::vector<std::u16string> words;
  for (const QString& word : query.simplified().split(QLatin1Char(' '), Qt::SkipEmptyParts))
    words.push_back(LowerOf(word));
  return words;
}

// The place where a word is best as a piece of the text.
struct Piece {
  int grade = 0;
  std::size_t at = 0;
};

Piece BestPiece(std::u16string_view text, std::u16string_view word) {
  Piece best;
  for (std::size_t at = text.find(word); at != std::u16string_view::npos;
       at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !IsLetter(text[at - 1]) || !IsLetter(word.front());
    const std::size_t end = at + word.size();
    const bool ends = end == text.size() || !IsLetter(text[end]);
    const int grade = starts && ends ? kWholeWord : starts ? kWordStart : kInside;
    if (grade > best.grade) best = {grade, at};
    if (grade == kWholeWord) break;
  }
  return best;
}

// The letters of a word in their order: those at beginnings of words count more, gaps less. For
// words of three letters and more; shorter ones would match nearly everything.
std::vector<int> Scattered(std::u16string_view text, std::u16string_view word) {
  std::vector<int> at;
  if (word.size() < 3) return at;
  std::size_t next = 0;
  for (const char16_t letter : word) {
    const std::size_t found = text.find(letter, next);
    if (found == std::u16string_view::npos) return {};
    at.push_back(static_cast<int>(found));
    next = found + 1;
  }
  return at;
}

Match MatchOfScattered(std::u16string_view text, const std::vector<int>& at) {
  if (at.empty()) return {};
  // Far apart, the letters are a coincidence.
  const int gaps = at.back() - at.front() + 1 - static_cast<int>(at.size());
  if (gaps > 5 * static_cast<int>(at.size())) return {};
  Match match{kScattered, -gaps};
  for (const int place : at)
    if (place == 0 || !IsLetter(text[static_cast<std::size_t>(place) - 1])) match.fine += 20;
  return match;
}

Match MatchOf(std::u16string_view text, const std::vector<std::u16string>& words) {
  if (words.empty()) return {1, 0};
  // A word that matches early, and a text that says little else, are better.
  Match sum{1, -static_cast<int>(std::min<std::size_t>(text.size(), 100))};
  for (const std::u16string& word : words) {
    const Piece piece = BestPiece(text, word);
    const Match match =
        piece.grade > 0
            ? Match{piece.grade, -static_cast<int>(std::min<std::size_t>(piece.at, 100))}
            : MatchOfScattered(text, Scattered(text, word));
    if (match.grade == 0) return {};
    sum.grade += match.grade;
    sum.fine += match.fine;
  }
  return sum;
}

struct Hit {
  std::size_t item = 0;
  Match match;
};

}  // namespace

std::vector<int> PaletteMarks(const QString& text, const QString& query) {
  std::vector<int> marks;
  const std::u16string lower = LowerOf(text);
  for (const std::u16string& word : WordsOf(query)) {
    const Piece piece = BestPiece(lower, word);
    const std::vector<int> letters = piece.grade > 0 ? std::vector<int>() : Scattered(lower, word);
    if (piece.grade == 0 && letters.empty()) return {};
    marks.insert(marks.end(), letters.begin(), letters.end());
    for (std::size_t i = 0; piece.grade > 0 && i < word.size(); ++i)
      marks.push_back(static_cast<int>(piece.at + i));
  }
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  return marks;
}

PaletteIndex::PaletteIndex(std::vector<PaletteItem> items) : items_(std::move(items)) {
  for (const PaletteItem& item : items_) {
    const std::u16string lower = LowerOf(item.text.left(kSearchedLetters));
    letters_.push_back(LettersOf(lower));
    lower_ += lower;
    ends_.push_back(static_cast<std::uint32_t>(lower_.size()));
  }
}

std::vector<std::size_t> PaletteIndex::Find(const QString& query, std::size_t most,
                                            std::size_t most_of_a_kind) const {
  const std::vector<std::u16string> words = WordsOf(query);
  std::uint64_t needed = 0;
  for (const std::u16string& word : words) needed |= LettersOf(word);
  const std::u16string_view all = lower_;
  std::array<std::vector<Hit>, kPaletteKinds> kinds;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if ((needed & ~letters_[i]) != 0) continue;
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    if (const Match match = MatchOf(all.substr(begin, ends_[i] - begin), words); match.grade > 0)
      kinds[static_cast<std::size_t>(items_[i].kind)].push_back({i, match});
  }
  const auto better = [this](const Hit& a, const Hit& b) {
    const auto key = [this](const Hit& hit) {
      return std::tuple(-hit.match.grade, ~items_[hit.item].weight, -hit.match.fine, hit.item);
    };
    return key(a) < key(b);
  };
  std::vector<Hit> hits;
  for (std::vector<Hit>& kind : kinds) {
    const auto end =
        kind.begin() + static_cast<std::ptrdiff_t>(std::min(most_of_a_kind, kind.size()));
    std::partial_sort(kind.begin(), end, kind.end(), better);
    hits.insert(hits.end(), kind.begin(), end);
  }
  // Kinds stay in their order where matches are equally good.
  std::stable_sort(hits.begin(), hits.end(),
                   [](const Hit& a, const Hit& b) { return a.match.grade > b.match.grade; });
  hits.resize(std::min(most, hits.size()));
  std::vector<std::size_t> found;
  for (const Hit& hit : hits) found.push_back(hit.item);
  return found;
}

namespace {

using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::Session;
using analysis::StackId;

void AddSites(const Session& session, analysis::Symbols& symbols, std::size_t most,
              PaletteNames* names) {
  std::vector<analysis::Site> sites = analysis::StacksOfRun(session, analysis::DiffMoment::kPeak);
  std::vector<bool> known(session.stack_count(), false);
  const auto first = [&known](StackId stack) {
    if (!stack.valid() || stack.value >= known.size() || known[stack.value]) return false;
    known[stack.value] = true;
    return true;
  };
  std::erase_if(sites, [&first](const analysis::Site& site) { return !first(site.stack); });
  // Others held nothing at the peaks.
  for (const AllocationRecord& record : session.records())
    if (record.layer != analysis::Layer::kTensor && first(record.stack))
      sites.push_back({.stack = record.stack});
  std::vector<RankedRow> rows = viewer::RankSites(sites, symbols);  // most bytes first
  names->left_out += rows.size() - std::min(most, rows.size());
  rows.resize(std::min(most, rows.size()));
  for (const RankedRow& row : rows)
    names->items.push_back(
        {PaletteKind::kSite, row.name,
         row.bytes > 0 ? Tr("%1 at the peak").arg(FormatBytes(row.bytes)) : Tr("not at the peak"),
         row.bytes, row.site.value});
}

// Of tensors of one name the largest.
void AddTensors(const Session& session, std::size_t most, PaletteNames* palette) {
  absl::flat_hash_map<std::string_view, std::uint32_t> largest;
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const analysis::TensorInfo* tensor = session.tensor(records[i].tensor());
    if (tensor == nullptr || tensor->name.empty()) continue;
    const auto [known, fresh] = largest.try_emplace(tensor->name, i);
    if (!fresh && records[i].bytes > records[known->second].bytes) known->second = i;
  }
  std::vector<std::pair<std::string_view, std::uint32_t>> names(largest.begin(), largest.end());
  if (names.size() > most) {
    palette->left_out += names.size() - most;
    const auto larger = [&records](const auto& a, const auto& b) {
      return std::pair(records[b.second].bytes, a.first) <
             std::pair(records[a.second].bytes, b.first);
    };
    std::nth_element(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most), names.end(),
                     larger);
    names.resize(most);
  }
  std::sort(names.begin(), names.end());
  for (const auto& [name, i] : names)
    palette->items.push_back({PaletteKind::kTensor, ToQString(name), FormatBytes(records[i].bytes),
                              records[i].bytes, i});
}

void AddSteps(const Session& session, std::size_t most, PaletteNames* names) {
  const auto steps = session.steps();
  const std::size_t first = steps.size() - std::min(most, steps.size());
  names->left_out += first;
  for (std::size_t i = first; i < steps.size(); ++i)
    names->items.push_back({PaletteKind::kStep, Tr("step %1").arg(steps[i].number),
                            FormatInstant(session.SinceStart(steps[i].begin), 1'000'000), 0,
                            static_cast<std::int64_t>(i)});
}

}  // namespace

PaletteNames PaletteNamesOf(const Session& session, analysis::Symbols& symbols,
                            std::stop_token stop, std::size_t most) {
  PaletteNames names;
  std::vector<PaletteItem>& items = names.items;
  AddSteps(session, most, &names);
  AddTensors(session, most, &names);
  if (stop.stop_requested()) return names;
  AddSites(session, symbols, most, &names);
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    const auto category = static_cast<analysis::Category>(i);
    if (category != analysis::Category::kSlack)
      items.push_back({PaletteKind::kCategory, ToQString(analysis::CategoryName(category)),
                       Tr("show only these"), 0, static_cast<std::int64_t>(i)});
  }
  for (const int device : analysis::DeviceOrdinals(session))
    if (device != analysis::kNoDevice)
      items.push_back({PaletteKind::kDevice, Tr("device %1").arg(device), {}, 0, device});
  const auto processes = session.processes();
  for (std::size_t i = 0; processes.size() > 1 && i < processes.size(); ++i)
    items.push_back({PaletteKind::kProcess, ProcessName(session, static_cast<std::uint32_t>(i)),
                     Tr("show only this"), 0, static_cast<std::int64_t>(i)});
  return names;
}

}  // namespace memprof::viewer
