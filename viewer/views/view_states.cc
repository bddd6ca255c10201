// The words that say in a link what a view shows beyond the selection; docs/viewer.md lists them.
#include <QCheckBox>
#include <QComboBox>
#include <QFileInfo>
#include <QTabBar>
#include <QTabWidget>
#include <algorithm>
#include <span>

#include "viewer/geometry/units.h"
#include "viewer/models/remote_log.h"
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
using WordList = std::span<const char* const>;

// -1 if it is none of them.
int FindWord(WordList words, const QString& word) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (word == QLatin1String(words[i])) return static_cast<int>(i);
  return -1;
}

template <typename Enum>
std::optional<Enum> ReadWord(WordList words, const QString& word) {
  const int place = FindWord(words, word);
  return place < 0 ? std::nullopt : std::optional(static_cast<Enum>(place));
}

template <typename Place>
QString WordAt(WordList words, Place place) {
  return QLatin1String(words[static_cast<std::size_t>(place)]);
}

constexpr const char* kTimelineBy[] = {"kind", "layer", "category", "site", "stream", "process"};
constexpr const char* kFlamePages[] = {"icicle", "flame", "top-down", "bottom-up", "callers"};
constexpr const char* kFlameContents[] = {"instant", "peak", "requested", "count", "end"};
constexpr const char* kFlameBy[] = {"main", "allocators"};
constexpr const char* kFlameFrames[] = {"all", "own"};
constexpr const char* kMapPages[] = {"layout", "time"};
constexpr const char* kHolePages[] = {"holes", "failures"};
constexpr const char* kWhatIfPages[] = {"allocators", "without"};
constexpr const char* kWithoutBy[] = {"site", "category", "layer", "tensor"};
constexpr const char* kDiffPages[] = {"table", "icicle"};
constexpr const char* kDiffBy[] = {"site", "category", "layer"};
static_assert(std::size(kTimelineBy) == kGroupings);

// A deeper path would make a link that nobody can send.
constexpr qsizetype kMaxZoom = 4000;

QString ZoomWord(const Selection& selection) {
  const QString word = JoinNames(selection.flame_path());
  return word.size() > kMaxZoom ? QString() : word;
}
void TakeZoom(Selection* selection, const QString& word) {
  if (!word.isEmpty() && word.size() <= kMaxZoom) selection->SetFlamePath(SplitNames(word));
}

// A stranger's link reaches no other machine, and reads nothing that never ends.
bool MayCompareWith(const QStringList& paths) {
  return std::none_of(paths.begin(), paths.end(), [](const QString& path) {
    const QFileInfo file(path);
    return IsRemoteName(path) || (file.exists() && !file.isFile() && !file.isDir());
  });
}

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
  state.by = WordAt(kFlameBy, direction_->currentIndex());
  if (depth_chosen_) state.frames = WordAt(kFlameFrames, from_site_->isChecked());
  state.zoom = ZoomWord(*selection_);
  return state;
}

void FlameView::SetState(const ViewState& state) {
  if (const auto mode = ReadWord<Mode>(kFlamePages, state.page)) SetMode(*mode);
  if (const auto choice = ReadWord<Choice>(kFlameContents, state.content)) SetChoice(*choice);
  if (const int by = FindWord(kFlameBy, state.by); by >= 0) SetBottomUp(by == 1);
  if (const int frames = FindWord(kFlameFrames, state.frames); frames >= 0) {
    depth_chosen_ = true;
    SetFromSite(frames == 1);
  }
  TakeZoom(selection_, state.zoom);
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
  if (sites_->page() == DiffSites::Page::kIcicle) state.zoom = ZoomWord(*selection_);
  QStringList with;
  for (const QString& path : other_paths_)
    if (!IsRemoteName(path)) with << QFileInfo(path).absoluteFilePath();
  state.with = JoinNames(with);
  if (!two_logs() && pinned_) state.before = *pinned_ - document_->bounds().begin;
  return state;
}

void DiffView::SetState(const ViewState& state) {
  if (const auto page = ReadWord<DiffSites::Page>(kDiffPages, state.page)) sites_->SetPage(*page);
  if (const auto by = ReadWord<DiffBy>(kDiffBy, state.by)) SetBy(*by);
  TakeZoom(selection_, state.zoom);
  if (const QStringList with = SplitNames(state.with); !with.isEmpty()) {
    if (MayCompareWith(with)) CompareWith(with);
  } else if (state.before) {
    const analysis::TimeWindow bounds = document_->bounds();
    PinAt(bounds.begin + std::min(*state.before, bounds.end - bounds.begin));
  }
}

}  // namespace memprof::viewer
