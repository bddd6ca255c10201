// The address map with its summary line, legend and choice of colours.
#include "viewer/views/map_view.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/geometry/elide.h"
#include "viewer/geometry/units.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

MapView::MapView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  pages_ = new QStackedWidget(this);
  column->addWidget(pages_);
  pages_->addWidget(BuildInstant());
  over_time_ = new AllocationsPanel(
      document, selection, AllocationsCanvas::Layout::kAddresses,
      [this] {
        if (mode() == Mode::kOverTime) Invalidate();
      },
      pages_);
  over_time_->AddControl(MakeModeChoice(over_time_));
  pages_->addWidget(over_time_);
  const auto ask = [this] { Invalidate(); };
  connect(document, &Document::TimelinesReady, this, ask);
  connect(document, &Document::StateChanged, this, ask);
  connect(document, &Document::SiteColorsChanged, this, ask);
  connect(selection, &Selection::InstantChanged, this, ask);
  connect(selection, &Selection::DeviceChanged, this, ask);
}

QWidget* MapView::BuildInstant() {
  auto* page = new QWidget(pages_);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kSpace);
  auto* row = new QHBoxLayout();
  summary_ = new RichLabel(page);
  notes_ = new RichLabel(page);
  connect(notes_, &RichLabel::linkActivated, this, [this] {
    const MapPicture* picture = canvas_->picture();
    if (picture != nullptr && picture->request.has_value())
      selection_->SetInstant(picture->request->time);
  });
  coloring_ = new QComboBox(page);
  // In the order of MapCanvas::Coloring.
  coloring_->addItems({tr("Colour: call site"), tr("Colour: age"), tr("Colour: size")});
  coloring_->setAccessibleName(tr("What colours mean"));
  row->addWidget(summary_, 1);
  row->addWidget(MakeModeChoice(page), 0, Qt::AlignTop);
  row->addWidget(coloring_, 0, Qt::AlignTop);
  column->addLayout(row);
  column->addWidget(notes_);
  legend_ = new RichLabel(page);
  column->addWidget(legend_);
  scroll_ = new QScrollArea(page);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  canvas_ = new MapCanvas(document_, selection_, scroll_);
  scroll_->setWidget(canvas_);
  scroll_->viewport()->installEventFilter(this);
  column->addWidget(scroll_, 1);
  // Below the map, so that the map does not move when there is a text.
  hole_ = new QLabel(page);
  hole_->setWordWrap(true);
  hole_->setTextFormat(Qt::PlainText);
  hole_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  hole_->setMinimumHeight(2 * fontMetrics().height());
  hole_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  column->addWidget(hole_);
  connect(canvas_, &MapCanvas::HoleChosen, hole_, &QLabel::setText);
  connect(coloring_, &QComboBox::currentIndexChanged, this, [this](int index) {
    canvas_->SetColoring(static_cast<MapCanvas::Coloring>(index));
    FillLegend();
  });
  return page;
}

QComboBox* MapView::MakeModeChoice(QWidget* parent) {
  auto* choice = new QComboBox(parent);
  // In the order of Mode.
  choice->addItems({tr("At the instant"), tr("Over time")});
  choice->setAccessibleName(tr("What the map shows"));
  mode_choices_.push_back(choice);
  connect(choice, &QComboBox::currentIndexChanged, this,
          [this](int index) { SetMode(static_cast<Mode>(index)); });
  return choice;
}

MapView::Mode MapView::mode() const { return static_cast<Mode>(pages_->currentIndex()); }

void MapView::SetMode(Mode mode) {
  const int index = static_cast<int>(mode);
  for (QComboBox* choice : mode_choices_) choice->setCurrentIndex(index);
  if (pages_->currentIndex() == index) return;
  pages_->setCurrentIndex(index);
  Invalidate();
}

void MapView::Refresh() {
  if (mode() == Mode::kInstant) {
    Ask();
  } else {
    over_time_->Update();
  }
}

QString MapView::HoleText() const { return hole_->text(); }

bool MapView::WriteCsv(QTextStream* out) const {
  if (mode() == Mode::kOverTime) return over_time_->WriteCsv(out);
  const MapPicture* picture = canvas_->picture();
  if (picture == nullptr || picture->map.segments.empty()) return false;
  *out << "segment,address,bytes,state,allocation,site\n";
  for (const analysis::MapSegment& segment : picture->map.segments) {
    for (const analysis::MapPiece& piece : segment.pieces) {
      *out << FormatAddress(segment.address) << ',' << FormatAddress(piece.address) << ','
           << piece.bytes << ',' << (piece.hole() ? "free" : "in use") << ',';
      if (!piece.hole()) {
        const auto rank =
            picture->rank.find(MapPicture::SiteOf(*document_->session(), piece.allocation));
        *out << piece.allocation.value << ','
             << (rank != picture->rank.end()
                     ? CsvField(picture->sites[static_cast<std::size_t>(rank->second)].name)
                     : QString());
      } else {
        *out << ',';
      }
      *out << '\n';
    }
  }
  return true;
}

QString MapView::SummaryText() const {
  QString text = summary_->text() + notes_->text();
  return text.replace(QLatin1String("&nbsp;"), QLatin1String(" "));
}

bool MapView::eventFilter(QObject* watched, QEvent* event) {
  // Also if only the height of the text above has changed.
  if (event->type() == QEvent::Resize && watched == scroll_->viewport())
    canvas_->SetViewHeight(scroll_->viewport()->height());
  return View::eventFilter(watched, event);
}

void MapView::Ask() {
  if (document_->session() == nullptr || document_->timelines() == nullptr) {
    job_.Cancel();
    Show(nullptr);
    return;
  }
  // Failures are of the whole log: computed once.
  if (failures_of_.lock() != document_->session()) failures_.reset();
  job_.Start(
      [history = document_->fragmentation(), symbols = document_->symbols(),
       colors = document_->site_colors(), device = selection_->device(),
       time = selection_->instant(), failures = failures_](std::stop_token) mutable {
        if (failures == nullptr)
          failures = std::make_shared<const std::vector<analysis::FailedRequest>>(
              analysis::FindFailures(history->session()));
        return Made{MakeMapPicture(*history, *symbols, device, time, *failures, colors.get()),
                    failures};
      },
      [this](Made made) {
        failures_of_ = document_->session();
        failures_ = std::move(made.failures);
        Show(std::move(made.picture));
      });
}

void MapView::Show(std::shared_ptr<const MapPicture> picture) {
  const Theme theme = Theme::From(palette());
  canvas_->SetPicture(picture);
  hole_->clear();
  if (picture == nullptr) {
    summary_->clear();
    notes_->clear();
    notes_->hide();
    legend_->clear();
    return;
  }
  const analysis::AddressMap& map = picture->map;
  const auto part = [&](const QString& caption, const QString& value) {
    // A line breaks between parts alone.
    const auto whole = [](QString text) { return text.replace(u' ', QStringLiteral("&nbsp;")); };
    return QStringLiteral("<span style='color:%1'>%2</span>&nbsp;<b>%3</b>&nbsp; ")
        .arg(theme.muted.name(), whole(caption), whole(value.toHtmlEscaped()));
  };
  const MapTotals totals = TotalsOf(map);
  QString text = part(tr("in use"), FormatBytes(totals.in_use)) +
                 part(tr("reserved"), FormatBytes(totals.reserved));
  if (totals.other > 0) text += part(tr("other"), FormatBytes(totals.other));
  text += part(tr("largest hole"), FormatBytes(map.largest_hole));
  QStringList notes;
  const auto note = [&](const QString& mark, const QString& words) {
    notes << QStringLiteral("<span style='color:%1'>%2</span> %3")
                 .arg(theme.danger.name(), mark, words.toHtmlEscaped());
  };
  if (!picture->pinned_by.isEmpty()) note(QStringLiteral("●"), picture->pinned_by);
  if (picture->request.has_value()) {
    note(QStringLiteral("▬"), picture->request_text);
    if (picture->request->time != map.time) {
      notes.back() +=
          QStringLiteral(" &nbsp;<a href='request' style='color:%1'>%2</a>")
              .arg(theme.accent.name(),
                   QString(tr("show that moment")).replace(u' ', QStringLiteral("&nbsp;")));
    }
  }
  notes_->setText(notes.join(QStringLiteral("<br>")));
  notes_->setVisible(!notes.isEmpty());
  summary_->setText(text);
  FillLegend();
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
    QStringList names;
    for (std::size_t i = 0; i < shown; ++i) names << picture->sites[i].name;
    names = ElideApart(names, 42, [](const QString& name) { return double(name.size()); });
    for (std::size_t i = 0; i < shown; ++i) {
      text += entry(theme.Categorical(picture->sites[i].color), names[static_cast<qsizetype>(i)]);
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
