// Everything that can be gone to by name, and the search for it. Pure; immutable once made, hence
// thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::viewer {

// In the order in which equally good results are shown.
enum class PaletteKind {
  kView,
  kSite,
  kStep,
  kTensor,
  kCategory,
  kDevice,
  kProcess,
  kCommand,
  kRecent,
};
inline constexpr int kPaletteKinds = 9;

struct PaletteItem {
  PaletteKind kind = PaletteKind::kCommand;
  QString text;              // shown and searched
  QString detail;            // shown at the right: a key, bytes at the peak, a time
  std::uint64_t weight = 0;  // bytes: of matches that are equally good the largest is first
  // A StackId, an AllocationId, a row of steps(), processes(), views or commands, a Category, a
  // device.
  std::int64_t target = 0;
};

// The letters of `text` that match, as positions, ascending; empty without a match. For display.
std::vector<int> PaletteMarks(const QString& text, const QString& query);

// The search. Each word of the query, in any order, must be in the text: best as a whole word, then
// at the beginning of one, then anywhere, then as letters in their order. Letters of either case
// are the same. Of each text the first kSearchedLetters count.
class PaletteIndex {
 public:
  static constexpr int kSearchedLetters = 300;

  PaletteIndex() = default;
  explicit PaletteIndex(std::vector<PaletteItem> items);

  std::size_t size() const { return items_.size(); }
  const PaletteItem& item(std::size_t i) const { return items_[i]; }

  // Items: the best first, at most `most`, and of one kind at most `most_of_a_kind`. Everything
  // matches an empty query. O(letters).
  std::vector<std::size_t> Find(const QString& query, std::size_t most,
                                std::size_t most_of_a_kind) const;

 private:
  std::vector<PaletteItem> items_;
  std::vector<std::uint64_t> letters_;  // that occur in each text: most cannot match
  std::u16string lower_;                // the texts, one after the other
  std::vector<std::uint32_t> ends_;     // of each in lower_
};

// What a log has: call sites with their bytes at the peaks of the devices, tensors by name, steps,
// categories, devices, processes.
struct PaletteNames {
  std::vector<PaletteItem> items;
  std::size_t left_out = 0;  // call sites, tensors and steps beyond the bound
};

// The GUI thread searches them at each letter that is typed.
inline constexpr std::size_t kMostPaletteNames = 30'000;

// At most `most` call sites, tensors and steps each: those with most bytes, and the last steps.
// Incomplete after a request to stop.
PaletteNames PaletteNamesOf(const analysis::Session& session, analysis::Symbols& symbols,
                            std::stop_token stop, std::size_t most = kMostPaletteNames);

}  // namespace memprof::viewer
