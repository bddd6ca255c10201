// The address map with its summary line, legend and choice of colours.
#include "viewer/views/map_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

MapView::MapView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  column->setSpacing(kSpace);
  auto* row = new QHBoxLayout();
  summary_ = new QLabel(this);
  summary_->setTextFormat(Qt::RichText);
  summary_->setWordWrap(true);
  coloring_ = new QComboBox(this);
  // In the order of MapCanvas::Coloring.
  coloring_->addItems({tr("Colour: call site"), tr("Colour: age"), tr("Colour: size")});
  coloring_->setAccessibleName(tr("What colours mean"));
  row->addWidget(summary_, 1);
  row->addWidget(coloring_, 0, Qt::AlignTop);
  column->addLayout(row);
  legend_ = new QLabel(this);
  legend_->setTextFormat(Qt::RichText);
  legend_->setWordWrap(true);
  column->addWidget(legend_);
  scroll_ = new QScrollArea(this);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  canvas_ = new MapCanvas(document, selection, scroll_);
  scroll_->setWidget(canvas_);
  column->addWidget(scroll_, 1);
  const auto ask = [this] { Invalidate(); };
  connect(document, &Document::TimelinesReady, this, ask);
  connect(document, &Document::StateChanged, this, ask);
  connect(selection, &Selection::InstantChanged, this, ask);
  connect(selection, &Selection::DeviceChanged, this, ask);
  connect(coloring_, &QComboBox::currentIndexChanged, this, [this](int index) {
    canvas_->SetColoring(static_cast<MapCanvas::Coloring>(index));
    FillLegend();
  });
}

QString MapView::SummaryText() const { return summary_->text(); }

void MapView::resizeEvent(QResizeEvent*) { canvas_->SetViewHeight(scroll_->viewport()->height()); }

void MapView::Ask() {
  if (document_->session() == nullptr || document_->timelines() == nullptr) {
    job_.Cancel();
    Show(nullptr);
    return;
  }
  job_.Start([session = document_->session(), symbols = document_->symbols(),
              device = selection_->device(), time = selection_->instant()](
                 std::stop_token) { return MakeMapPicture(*session, *symbols, device, time); },
             [this](std::shared_ptr<const MapPicture> picture) { Show(std::move(picture)); });
}

void MapView::Show(std::shared_ptr<const MapPicture> picture) {
  const Theme theme = Theme::From(palette());
  canvas_->SetPicture(picture);
  if (picture == nullptr) {
    summary_->clear();
    legend_->clear();
    return;
  }
  const analysis::AddressMap& map = picture->map;
  const auto part = [&](const QString& caption, const QString& value) {
    return QStringLiteral("<span style='color:%1'>%2</span> <b>%3</b>&nbsp;&nbsp;&nbsp; ")
        .arg(theme.muted.name(), caption, value.toHtmlEscaped());
  };
  QString text = part(tr("in use"), FormatBytes(map.allocated_bytes)) +
                 part(tr("reserved"), FormatBytes(map.reserved_bytes)) +
                 part(tr("largest hole"), FormatBytes(map.largest_hole));
  if (picture->step >= 0) text = part(tr("step"), QString::number(picture->step)) + text;
  if (!picture->pinned_by.isEmpty()) {
    text += QStringLiteral("<br><span style='color:%1'>●</span> %2")
                .arg(theme.danger.name(), picture->pinned_by.toHtmlEscaped());
  }
  summary_->setText(text);
  FillLegend();
  layout()->activate();
  canvas_->SetViewHeight(scroll_->viewport()->height());
}

void MapView::FillLegend() {
  const MapPicture* picture = canvas_->picture();
  if (picture == nullptr) return;
  const Theme theme = Theme::From(palette());
  const auto entry = [&](const QColor& color, const QString& text) {
    return QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2&nbsp;&nbsp; ")
        .arg(color.name(),
             text.toHtmlEscaped().replace(QLatin1Char(' '), QStringLiteral("&nbsp;")));
  };
  QString text;
  if (coloring_->currentIndex() == 0) {
    const std::size_t shown = std::min<std::size_t>(picture->sites.size(), Theme::kCategories);
    for (std::size_t i = 0; i < shown; ++i) {
      QString name = picture->sites[i].name;
      if (name.size() > 42) name = name.left(20) + QStringLiteral("…") + name.right(21);
      text += entry(theme.Categorical(static_cast<int>(i)), name);
    }
    if (picture->sites.size() > shown) {
      text += entry(theme.Categorical(-1), tr("%1 other sites").arg(picture->sites.size() - shown));
    }
  } else {
    const bool age = coloring_->currentIndex() == 1;
    text = entry(theme.Ramp(0), age ? tr("just born") : tr("small"));
    for (const double share : {0.33, 0.67}) text += entry(theme.Ramp(share), QString());
    text += entry(theme.Ramp(1), age ? tr("as old as the recording") : tr("largest block"));
  }
  legend_->setText(QStringLiteral("<small>%1</small>").arg(text));
}

}  // namespace memprof::viewer
