// Call sites as a flame graph, with the choice of metric and direction, and search.
#include "viewer/views/flame_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "viewer/geometry/units.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

FlameView::FlameView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  column->setSpacing(kSpace);
  column->addWidget(BuildBar());
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  canvas_ = new FlameCanvas(document, selection, scroll);
  scroll->setWidget(canvas_);
  column->addWidget(scroll, 1);
  const auto ask = [this] { Invalidate(); };
  connect(document, &Document::StateChanged, this, ask);
  connect(document, &Document::TimelinesReady, this, &FlameView::FillLayers);
  connect(selection, &Selection::DeviceChanged, this, &FlameView::FillLayers);
  connect(layers_, &QComboBox::currentIndexChanged, this, ask);
  connect(selection, &Selection::InstantChanged, this, [this] {
    if (choice_->currentIndex() == static_cast<int>(Choice::kLiveAtInstant)) Invalidate();
  });
  connect(selection, &Selection::ZoomChanged, this, [this] {
    if (choice_->currentIndex() >= static_cast<int>(Choice::kAllocatedInWindow)) Invalidate();
  });
  connect(choice_, &QComboBox::currentIndexChanged, this, ask);
  connect(direction_, &QComboBox::currentIndexChanged, this, ask);
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    canvas_->SetSearch(text);
    note_->setText(Explanation());
  });
}

QWidget* FlameView::BuildBar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kSpace);
  choice_ = new QComboBox(bar);
  // In the order of Choice.
  choice_->addItems({tr("Alive at the instant"), tr("Alive at the peak"), tr("Allocated in window"),
                     tr("Allocations in window")});
  choice_->setAccessibleName(tr("What is measured"));
  layers_ = new QComboBox(bar);
  layers_->setAccessibleName(tr("Which memory"));
  layers_->setToolTip(
      tr("Blocks: what the framework's allocator handed out. "
         "Driver: what was asked of the driver, segments among it."));
  direction_ = new QComboBox(bar);
  direction_->addItems({tr("Top-down"), tr("Bottom-up")});
  direction_->setAccessibleName(tr("Direction"));
  search_ = new QLineEdit(bar);
  search_->setPlaceholderText(tr("Search function, file or module"));
  search_->setClearButtonEnabled(true);
  search_->setMinimumWidth(110);
  search_->setMaximumWidth(320);
  note_ = new QLabel(bar);
  for (QComboBox* box : {layers_, choice_, direction_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    box->setMinimumWidth(90);
  }
  note_->setTextFormat(Qt::RichText);
  note_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  note_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row->addWidget(layers_);
  row->addWidget(choice_);
  row->addWidget(direction_);
  row->addWidget(search_, 1);
  row->addWidget(note_, 1);
  return bar;
}

// What can be asked of the chosen device; asks for its default.
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
  Invalidate();
}

void FlameView::SetChoice(Choice choice) { choice_->setCurrentIndex(static_cast<int>(choice)); }
void FlameView::SetBottomUp(bool bottom_up) { direction_->setCurrentIndex(bottom_up ? 1 : 0); }

bool FlameView::FocusSearch() {
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
  return true;
}

analysis::SiteQuery FlameView::Query() const {
  analysis::SiteQuery query;
  query.device = selection_->device();
  query.layers = layers_->currentData().toUInt();
  query.window = selection_->window();
  query.at = selection_->instant();
  switch (static_cast<Choice>(choice_->currentIndex())) {
    case Choice::kLiveAtInstant:
      break;
    case Choice::kLiveAtPeak: {
      const TimelineBands* bands = document_->bands(selection_->device());
      if (bands == nullptr) break;
      const bool blocks = bands->framework && query.layers != analysis::kDeviceLayers;
      const StackLine& series = blocks ? bands->in_use : bands->allocated;
      if (!series.empty()) query.at = series.time_of_max();
      break;
    }
    case Choice::kAllocatedInWindow:
      query.metric = analysis::Metric::kAllocatedBytes;
      break;
    case Choice::kCountInWindow:
      query.metric = analysis::Metric::kAllocationCount;
      break;
  }
  return query;
}

QString FlameView::Explanation() const {
  if (canvas_->matched() >= 0) return tr("%1 match").arg(FormatPercent(canvas_->matched()));
  const Theme theme = Theme::From(palette());
  return QStringLiteral(
             "<span style='color:%1'>■</span> %2&nbsp; <span style='color:%3'>■</span> %4")
      .arg(theme.Frame(false, {}).name(), tr("native"), theme.Frame(true, {}).name(), tr("Python"));
}

void FlameView::Ask() {
  if (document_->session() == nullptr || document_->timelines() == nullptr) {
    job_.Cancel();
    canvas_->SetTree(nullptr, FlameValue::kBytes);
    return;
  }
  const FlameValue value = choice_->currentIndex() == static_cast<int>(Choice::kCountInWindow)
                               ? FlameValue::kCount
                               : FlameValue::kBytes;
  job_.Start(
      [session = document_->session(), symbols = document_->symbols(), query = Query(),
       bottom_up = direction_->currentIndex() == 1](std::stop_token) {
        return std::make_shared<const analysis::FlameTree>(
            analysis::BuildFlame(*session, *symbols, query, bottom_up));
      },
      [this, value](std::shared_ptr<const analysis::FlameTree> tree) {
        canvas_->SetTree(std::move(tree), value);
        note_->setText(Explanation());
      });
}

}  // namespace memprof::viewer
