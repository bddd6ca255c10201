// A picture of all allocations with its summary line, the choice of colours and their legend.
#include "viewer/views/allocations_panel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <unordered_map>

#include "analysis/store/allocation_set.h"
#include "viewer/geometry/elide.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/theme.h"
#include "viewer/views/view.h"

namespace memprof::viewer {

AllocationsPanel::AllocationsPanel(Document* document, Selection* selection,
                                   AllocationsCanvas::Layout layout,
                                   const std::function<void()>& changed, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kSpace);
  row_ = new QHBoxLayout();
  summary_ = new RichLabel(this);
  coloring_ = new QComboBox(this);
  // In the order of AllocationColoring.
  coloring_->addItems({tr("Colour: call site"), tr("Colour: category"), tr("Colour: size"),
                       tr("Colour: lifetime"), tr("Colour: leak tier")});
  coloring_->setAccessibleName(tr("What colours mean"));
  row_->addWidget(summary_, 1);
  row_->addWidget(coloring_, 0, Qt::AlignTop);
  column->addLayout(row_);
  legend_ = new RichLabel(this);
  column->addWidget(legend_);
  canvas_ = new AllocationsCanvas(document, selection, layout, this);
  column->addWidget(canvas_, 1);
  connect(canvas_, &AllocationsCanvas::Changed, this, &AllocationsPanel::ShowWords);
  connect(coloring_, &QComboBox::currentIndexChanged, this,
          [this](int index) { canvas_->SetColoring(static_cast<AllocationColoring>(index)); });
  connect(document, &Document::StateChanged, this, changed);
  connect(document, &Document::ReportReady, this, changed);
  connect(document, &Document::CategoriesReady, this, changed);
  connect(document, &Document::PassingChanged, this, changed);
  connect(document, &Document::SiteColorsChanged, this, changed);
  connect(selection, &Selection::DeviceChanged, this, changed);
  connect(selection, &Selection::ZoomChanged, this, changed);
  connect(selection, &Selection::AxisChanged, this, changed);
  connect(selection, &Selection::SelectionChanged, this, changed);
}

void AllocationsPanel::AddControl(QWidget* widget) {
  row_->insertWidget(1, widget, 0, Qt::AlignTop);
}

QString AllocationsPanel::SummaryText() const { return summary_->text(); }
QString AllocationsPanel::LegendText() const { return legend_->text(); }

void AllocationsPanel::ShowWords() {
  const AllocationIndex* index = canvas_->index();
  const AllocationColors* colors = canvas_->colors();
  if (index == nullptr || colors == nullptr || index->size() == 0) {
    summary_->clear();
    legend_->clear();
    return;
  }
  const Theme theme = Theme::From(palette());
  const auto part = [&](const QString& caption, const QString& value) {
    return QStringLiteral("<span style='color:%1'>%2</span> <b>%3</b>&nbsp;&nbsp;&nbsp; ")
        .arg(theme.muted.name(), caption, value.toHtmlEscaped());
  };
  QString text = part(tr("allocations"), FormatCount(index->size()));
  if (colors->passing != index->size())
    text += part(tr("in the filter"), FormatCount(colors->passing));
  if (canvas_->picture() != nullptr) {
    text += part(tr("in this window"), FormatCount(canvas_->picture()->drawn));
  }
  text += part(tr("height"), FormatBytes(static_cast<std::uint64_t>(index->bytes())));
  summary_->setText(text);
  if (!colors->missing.isEmpty()) {
    legend_->setText(QStringLiteral("<small>%1</small>").arg(colors->missing.toHtmlEscaped()));
    return;
  }
  QStringList names;
  for (const AllocationColors::Entry& entry : colors->legend) names << entry.text;
  // Full names if they take at most two lines.
  const int room = 2 * width() / std::max(1, fontMetrics().averageCharWidth());
  const auto letters = [](const QString& name) { return static_cast<double>(name.size()); };
  if (names.join(QStringLiteral("   ")).size() > room) names = ElideApart(names, 42, letters);
  QString legend;
  for (const AllocationColors::Entry& entry : colors->legend) {
    // Without line breaks within a name.
    QString name = names.takeFirst();
    name = name.toHtmlEscaped()
               .replace(QLatin1Char(' '), QStringLiteral("&nbsp;"))
               .replace(QLatin1Char(':'), QStringLiteral("&#8288;:&#8288;"));
    legend += QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2&nbsp;&nbsp; ")
                  .arg(entry.color.name(), name);
  }
  legend_->setText(QStringLiteral("<small>%1</small>").arg(legend));
}

bool AllocationsPanel::WriteCsv(QTextStream* out) const {
  const AllocationIndex* index = canvas_->index();
  if (index == nullptr || index->size() == 0) return false;
  const analysis::Session& session = index->session();
  const analysis::AllocationSet* passing = document_->passing().get();
  const analysis::TimeNs origin = document_->bounds().begin;
  const auto seconds = [origin](analysis::TimeNs time) {
    return QString::number(static_cast<double>(time - std::min(time, origin)) / 1e9, 'f', 9);
  };
  std::unordered_map<std::uint32_t, QString> sites;
  *out << "allocation,layer,address,bytes,born_s,freed_s,lane,tensor,site\n";
  index->ForEachAlive(selection_->window(), [&](std::size_t row) {
    const analysis::AllocationId id = index->id(row);
    if (!Passes(passing, id)) return true;
    const analysis::AllocationRecord& a = session.record(id);
    QString& site = sites[a.stack.value];
    if (site.isNull())
      site =
          a.stack.valid() ? CsvField(SiteName(*canvas_->symbols(), a.stack)) : QStringLiteral("");
    *out << id.value << ',' << ToQString(analysis::LayerName(a.layer)) << ','
         << FormatAddress(a.address) << ',' << a.bytes << ',' << seconds(index->Birth(row)) << ','
         << (a.alive() ? QString() : seconds(index->Death(row))) << ','
         << static_cast<std::uint64_t>(index->low(row)) << ',' << CsvField(TensorLabel(session, id))
         << ',' << site << '\n';
    return true;
  });
  return true;
}

}  // namespace memprof::viewer
