// The words that say in a link what a view shows beyond the selection; docs/viewer.md lists them.
#include <QComboBox>
#include <QTabBar>
#include <QTabWidget>
#include <span>

#include "viewer/geometry/units.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/fragmentation_view.h"
#include "viewer/views/map_view.h"
#include "viewer/views/source_pane.h"
#include "viewer/views/source_view.h"
#include "viewer/views/timeline_view.h"
#include "viewer/views/what_if_gone.h"
#include "viewer/views/what_if_view.h"

namespace memprof::viewer {
namespace {

// Words in the order of an enumeration or of tabs.
using Words = std::span<const char* const>;

// -1 if it is none of them.
int FindWord(Words words, const QString& word) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (word == QLatin1String(words[i])) return static_cast<int>(i);
  return -1;
}

template <typename Enum>
std::optional<Enum> ReadWord(Words words, const QString& word) {
  const int place = FindWord(words, word);
  return place < 0 ? std::nullopt : std::optional(static_cast<Enum>(place));
}

template <typename Place>
QString WordAt(Words words, Place place) {
  return QLatin1String(words[static_cast<std::size_t>(place)]);
}

constexpr const char* kTimelineBy[] = {"kind", "layer", "category", "site", "stream", "process"};
constexpr const char* kFlamePages[] = {"icicle", "flame", "top-down", "bottom-up", "callers"};
constexpr const char* kFlameContents[] = {"instant", "peak", "requested", "count", "end"};
constexpr const char* kMapPages[] = {"layout", "time"};
constexpr const char* kHolePages[] = {"holes", "failures"};
constexpr const char* kWhatIfPages[] = {"allocators", "without"};
constexpr const char* kWithoutBy[] = {"site", "category", "layer", "tensor"};
constexpr const char* kDiffPages[] = {"table", "icicle"};
constexpr const char* kDiffBy[] = {"site", "category", "layer"};
static_assert(std::size(kTimelineBy) == kGroupings);

}  // namespace

ViewState TimelineView::State() const {
  ViewState state;
  state.by = WordAt(kTimelineBy, stacks_->grouping());
  // Not what the log alone decides: another one may decide otherwise.
  const std::optional<bool> whole = stacks_->whole_choice();
  if (shows_rows())
    state.content = QStringLiteral("rows");
  else if (whole)
    state.content = *whole ? QStringLiteral("device") : QStringLiteral("program");
  return state;
}

void TimelineView::SetState(const ViewState& state) {
  if (const auto by = ReadWord<analysis::TimelineGrouping>(kTimelineBy, state.by))
    stacks_->SetGrouping(*by);
  if (state.content == QLatin1String("rows")) return ShowRows(true);
  const bool whole = state.content == QLatin1String("device");
  if (!whole && state.content != QLatin1String("program")) return;
  ShowRows(false);
  stacks_->ChooseWholeDevice(whole);
}

ViewState FlameView::State() const {
  ViewState state;
  state.page = WordAt(kFlamePages, mode());
  state.content = WordAt(kFlameContents, choice_->currentIndex());
  return state;
}

void FlameView::SetState(const ViewState& state) {
  if (const auto mode = ReadWord<Mode>(kFlamePages, state.page)) SetMode(*mode);
  if (const auto choice = ReadWord<Choice>(kFlameContents, state.content)) SetChoice(*choice);
}

ViewState MapView::State() const {
  ViewState state;
  state.page = WordAt(kMapPages, mode());
  return state;
}

void MapView::SetState(const ViewState& state) {
  if (const auto mode = ReadWord<Mode>(kMapPages, state.page)) SetMode(*mode);
}

ViewState SourceView::State() const {
  ViewState state;
  state.file = ToQString(pane_->file());
  return state;
}

void SourceView::SetState(const ViewState& state) {
  if (state.file.isEmpty()) return;
  chosen_ = state.file.toStdString();
  shown_ = selection_->site();  // it may be of another file
  pane_->ShowFile(chosen_, 0);
  Invalidate();
}

ViewState FragmentationView::State() const {
  ViewState state;
  state.page = WordAt(kHolePages, tabs_->currentIndex());
  return state;
}

void FragmentationView::SetState(const ViewState& state) {
  const int page = FindWord(kHolePages, state.page);
  if (page < 0) return;
  named_ = true;
  tabs_->setCurrentIndex(page);
}

ViewState WhatIfView::State() const {
  ViewState state;
  state.page = WordAt(kWhatIfPages, tabs_->currentIndex());
  if (Front() == gone_) state.by = WordAt(kWithoutBy, gone_->by());
  return state;
}

void WhatIfView::SetState(const ViewState& state) {
  if (const int page = FindWord(kWhatIfPages, state.page); page >= 0) tabs_->setCurrentIndex(page);
  if (const auto by = ReadWord<analysis::WithoutBy>(kWithoutBy, state.by)) gone_->SetBy(*by);
}

ViewState DiffView::State() const {
  ViewState state;
  state.page = WordAt(kDiffPages, sites_->page());
  state.by = WordAt(kDiffBy, by_->currentData().toInt());
  return state;
}

void DiffView::SetState(const ViewState& state) {
  if (const auto page = ReadWord<DiffSites::Page>(kDiffPages, state.page)) sites_->SetPage(*page);
  if (const auto by = ReadWord<DiffBy>(kDiffBy, state.by)) SetBy(*by);
}

}  // namespace memprof::viewer
