// Call sites: graphs, trees, callers and callees of one question; what that is, and how it is
// answered, is in flame_question.cc.
#include "viewer/views/flame_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/call_tree_panel.h"
#include "viewer/views/callers_panel.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
FlameView::FlameView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace / 2, 2 * kSpace, kSpace);
  column->setSpacing(kSpace);
  column->addWidget(BuildModes());
  column->addWidget(BuildBar());
  pages_ = new QStackedWidget(this);
  scroll_ = new QScrollArea(pages_);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  canvas_ = new FlameCanvas(document, selection, scroll_);
  scroll_->setWidget(canvas_);
  tree_ = new CallTreePanel(document, selection, pages_);
  callers_ = new CallersPanel(document, selection, pages_);
  for (QWidget* page : {static_cast<QWidget*>(scroll_), static_cast<QWidget*>(tree_),
                        static_cast<QWidget*>(callers_)})
    pages_->addWidget(page);
  column->addWidget(pages_, 1);
  Connect();
}

void FlameView::Connect() {
  const auto anew = [this] { DataChanged(); };
  connect(document_, &Document::StateChanged, this, anew);
  connect(document_, &Document::PassingChanged, this, anew);
  connect(document_, &Document::TimelinesReady, this, &FlameView::FillLayers);
  connect(selection_, &Selection::DeviceChanged, this, &FlameView::FillLayers);
  connect(selection_, &Selection::InstantChanged, this, [this] {
    if (choice_->currentIndex() == static_cast<int>(Choice::kLiveAtInstant)) DataChanged();
  });
  connect(selection_, &Selection::ZoomChanged, this, &FlameView::Zoomed);
  connect(layers_, &QComboBox::currentIndexChanged, this, anew);
  connect(choice_, &QComboBox::currentIndexChanged, this, anew);
  connect(from_site_, &QCheckBox::toggled, this, [this] {
    depth_chosen_ = true;
    DataChanged();
  });
  connect(direction_, &QComboBox::currentIndexChanged, this, [this] { Invalidate(); });
  connect(modes_, &QTabBar::currentChanged, this, &FlameView::ModeChanged);
  connect(search_, &QLineEdit::textChanged, this, &FlameView::Search);
  connect(search_, &QLineEdit::returnPressed, this, [this] {
    if (pages_->currentWidget() == tree_) tree_->NextMatch();
  });
  // Flames grow from the bottom, so the view begins there.
  connect(scroll_->verticalScrollBar(), &QScrollBar::rangeChanged, this, [this](int, int most) {
    if (mode() == Mode::kFlame) scroll_->verticalScrollBar()->setValue(most);
  });
}

QWidget* FlameView::BuildModes() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kSpace);
  modes_ = new QTabBar(bar);
  modes_->setAccessibleName(tr("How call sites are shown"));
  modes_->setExpanding(false);
  modes_->setDrawBase(false);
  modes_->setUsesScrollButtons(true);  // if even without the legend there is no space
  // In the order of Mode.
  const std::pair<QString, QString> kModes[] = {
      {tr("Icicle"), tr("Callers on top, what they call below")},
      {tr("Flame graph"), tr("The same, drawn upwards")},
      {tr("Top-down"), tr("From main() to what allocates, as a tree")},
      {tr("Bottom-up"), tr("From what allocates to its callers, as a tree")},
      {tr("Callers"), tr("A function, who calls it, and whom it calls")}};
  for (const auto& [title, tip] : kModes) modes_->setTabToolTip(modes_->addTab(title), tip);
  legend_ = new QLabel(bar);
  legend_->setTextFormat(Qt::RichText);
  from_site_ = new QCheckBox(tr("Hide libraries"), bar);
  from_site_->setToolTip(
      tr("Stacks from the call site outward, without CUDA, frameworks, the "
         "standard library and allocators. On where a program runs Python, until you choose."));
  row->addWidget(modes_);
  row->addStretch(1);
  row->addWidget(from_site_);
  row->addSpacing(kSpace);
  row->addWidget(legend_);
  return bar;
}

QWidget* FlameView::BuildBar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kSpace);
  choice_ = new QComboBox(bar);
  // In the order of Choice.
  choice_->addItems({tr("Alive at the instant"), tr("Alive at the peak"), tr("Allocated in window"),
                     tr("Allocations in window"), tr("Alive at the end")});
  choice_->setAccessibleName(tr("What is measured"));
  layers_ = new QComboBox(bar);
  layers_->setAccessibleName(tr("Which memory"));
  layers_->setToolTip(
      tr("Blocks: what the framework's allocator allocated to the program. "
         "Driver: what was requested from the driver, including segments."));
  direction_ = new QComboBox(bar);
  direction_->addItems({tr("From main()"), tr("From allocators")});
  direction_->setAccessibleName(tr("Direction"));
  search_ = new QLineEdit(bar);
  search_->setPlaceholderText(tr("Search function, file or module"));
  search_->setClearButtonEnabled(true);
  search_->setMinimumWidth(110);
  note_ = new QLabel(bar);
  note_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  note_->setTextFormat(Qt::PlainText);
  for (QComboBox* box : {layers_, choice_, direction_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    box->setMinimumWidth(90);
    row->addWidget(box);
  }
  row->addWidget(search_, 1);
  row->addWidget(note_);
  return bar;
}

// Fills the choices for the device, and selects the default.
void FlameView::FillLayers() {
  const TimelineBands* bands = document_->bands(selection_->device());
  {
    const QSignalBlocker blocker(layers_);
    layers_->clear();
    if (bands != nullptr && bands->framework) {
      layers_->addItem(tr("Framework blocks"), SiteLayers(bands));
    }
    if (bands == nullptr || bands->device != analysis::kNoDevice) {
      layers_->addItem(tr("Driver memory"), analysis::kDeviceLayers);
    } else {
      layers_->addItem(tr("Host memory"), SiteLayers(bands));
    }
  }
  DataChanged();
}

void FlameView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  FitBars();
}

// Hides texts that only explain, if there is no space for all the choices.
void FlameView::FitBars() {
  const int tabs = modes_->sizeHint().width() + 2 * kSpace + 4 * kSpace;
  const int whole = tabs + from_site_->sizeHint().width() + legend_->sizeHint().width();
  legend_->setVisible(width() >= whole + 2 * kSpace);
  int choices = search_->minimumWidth() + note_->sizeHint().width() + 4 * kSpace;
  for (const QComboBox* box : {layers_, choice_, direction_}) choices += box->sizeHint().width();
  note_->setVisible(width() >= choices + 2 * kSpace);
}

void FlameView::SetChoice(Choice choice) { choice_->setCurrentIndex(static_cast<int>(choice)); }
void FlameView::SetMode(Mode mode) { modes_->setCurrentIndex(static_cast<int>(mode)); }
void FlameView::SetBottomUp(bool bottom_up) { direction_->setCurrentIndex(bottom_up ? 1 : 0); }
void FlameView::SetFromSite(bool from_site) { from_site_->setChecked(from_site); }

FlameView::Mode FlameView::mode() const { return static_cast<Mode>(modes_->currentIndex()); }

bool FlameView::by_count() const {
  return choice_->currentIndex() == static_cast<int>(Choice::kCountInWindow);
}

bool FlameView::FocusSearch() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
  return true;
}

void FlameView::DataChanged() {
  stacks_.reset();
  Invalidate();
}

void FlameView::Zoomed() {
  // Nodes that were too small to be drawn may now be visible.
  const bool partly = canvas_->tree() != nullptr && !canvas_->tree()->whole;
  if (partly && selection_->flame_path() != flame_path_) Invalidate();
  const analysis::TimeWindow window = selection_->window();
  if (window.begin == window_.begin && window.end == window_.end) return;
  const auto choice = static_cast<Choice>(choice_->currentIndex());
  if (choice == Choice::kAllocatedInWindow || choice == Choice::kCountInWindow) DataChanged();
}

void FlameView::ModeChanged() {
  const bool graph = mode() == Mode::kIcicle || mode() == Mode::kFlame;
  direction_->setVisible(graph);
  modes_->updateGeometry();  // the selected tab is bold: the bar may become wider
  canvas_->SetRising(mode() == Mode::kFlame);
  pages_->setCurrentWidget(graph                      ? static_cast<QWidget*>(scroll_)
                           : mode() == Mode::kCallers ? static_cast<QWidget*>(callers_)
                                                      : static_cast<QWidget*>(tree_));
  if (mode() == Mode::kFlame)
    scroll_->verticalScrollBar()->setValue(scroll_->verticalScrollBar()->maximum());
  Invalidate();
}

void FlameView::Search(const QString& text) {
  const QWidget* page = pages_->currentWidget();
  if (page == scroll_) canvas_->SetSearch(text);
  if (page == tree_) tree_->SetSearch(text);
  if (page == callers_) callers_->SetSearch(text);
  note_->setText(Explanation());
  FitBars();
}

QString FlameView::EmptyText() const {
  QString text;
  switch (static_cast<Choice>(choice_->currentIndex())) {
    case Choice::kLiveAtInstant:
      text = tr("Nothing was allocated here at this instant. Choose another in the timeline.");
      break;
    case Choice::kLiveAtPeak:
      text = tr("Nothing was allocated here in the whole run.");
      break;
    case Choice::kAllocatedInWindow:
    case Choice::kCountInWindow:
      text = tr("Nothing was allocated here in this window. Home shows all of the recording.");
      break;
    case Choice::kLiveAtEnd:
      text = tr("Nothing was left here when the log ended.");
      break;
  }
  if (document_->passing() != nullptr) text += tr(" The filter may hide it.");
  return text;
}

QString FlameView::Explanation() const {
  const QWidget* page = pages_->currentWidget();
  const double matched = search_->text().isEmpty() ? -1
                         : page == scroll_         ? canvas_->matched()
                         : page == tree_           ? tree_->matched()
                                                   : -1;
  if (matched >= 0) return tr("%1 match").arg(FormatPercent(matched));
  if (stacks_ == nullptr) return {};
  return by_count() ? FormatPlural(stacks_->total().blocks, tr("allocation"))
                    : tr("%1 in %2")
                          .arg(FormatBytes(stacks_->total().bytes),
                               FormatPlural(stacks_->total().blocks, tr("block")));
}

void FlameView::Clear() {
  stacks_.reset();
  job_.Cancel();
  canvas_->SetTree(nullptr, nullptr, FlameValue::kBytes);
  tree_->SetTree(nullptr, false);
  callers_->SetStacks(nullptr, {}, {}, false);
  note_->clear();
}

void FlameView::Show(Found found) {
  stacks_ = std::move(found.stacks);
  const QWidget* page = pages_->currentWidget();
  if (page == scroll_) {
    canvas_->SetEmptyText(EmptyText());
    canvas_->SetTree(std::move(found.flame), std::move(found.tree),
                     by_count() ? FlameValue::kCount : FlameValue::kBytes);
    canvas_->SetSearch(search_->text());
  } else if (page == tree_) {
    tree_->SetTree(std::move(found.tree), by_count());
    tree_->SetSearch(search_->text());
  } else {
    callers_->SetStacks(stacks_, std::move(found.functions), found.first, by_count());
    callers_->SetSearch(search_->text());
  }
  note_->setText(Explanation());
  FitBars();
}

}  // namespace memprof::viewer
