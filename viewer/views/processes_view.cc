// Processes side by side.
#include "viewer/views/processes_view.h"

#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <vector>

#include "analysis/store/allocation_set.h"
#include "viewer/geometry/line_fit.h"
#include "viewer/geometry/units.h"
#include "viewer/views/copy_rows.h"
#include "viewer/views/csv.h"
#include "viewer/views/page.h"
#include "viewer/views/processes_lanes.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/tensors_bars.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

// The number of columns of a lane: enough for a wide window.
constexpr int kColumns = 1024;

}  // namespace

ProcessesView::ProcessesView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  QVBoxLayout* column = PageColumn(this);
  summary_ = SentenceLabel(this);
  summary_->setTextFormat(Qt::RichText);
  column->addWidget(summary_);
  legend_ = new QLabel(this);
  legend_->setTextFormat(Qt::RichText);
  legend_->setFont(SmallFont(font()));
  column->addWidget(legend_);
  BuildTable();
  column->addWidget(table_, 1);
  Connect();
}

void ProcessesView::BuildTable() {
  model_ = new ProcessModel(this);
  sorted_ = new QSortFilterProxyModel(this);
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(ProcessModel::kSortRole);
  table_ = new QTableView(this);
  table_->setHorizontalHeader(
      new TensorHeader(document_, selection_, ProcessModel::kOverTime, table_));
  table_->setModel(sorted_);
  SetUpTable(table_, tr("Processes"));
  table_->setWordWrap(false);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  lanes_ = new ProcessLanes(document_, selection_, table_);
  table_->setItemDelegate(lanes_);
  table_->horizontalHeader()->setSortIndicator(ProcessModel::kProcess, Qt::AscendingOrder);
  table_->setSortingEnabled(true);
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  AddCopyActions(table_, {.drawn = ProcessModel::kOverTime, .menu = false});
}

void ProcessesView::Connect() {
  const auto again = [this] { Invalidate(); };
  const auto repaint = [this] {
    table_->viewport()->update();
    table_->horizontalHeader()->viewport()->update();
  };
  connect(document_, &Document::StateChanged, this, again);
  connect(document_, &Document::ReportReady, this, again);
  connect(document_, &Document::CategoriesReady, this, [this] {
    if (selection_->filter().category) Invalidate();
  });
  connect(selection_, &Selection::FilterChanged, this, again);
  connect(selection_, &Selection::ZoomChanged, this, again);
  connect(selection_, &Selection::InstantChanged, this, repaint);
  connect(selection_, &Selection::AxisChanged, this, repaint);
  connect(table_, &QTableView::clicked, this, &ProcessesView::Choose);
  connect(table_, &QTableView::activated, this, &ProcessesView::Choose);
  connect(table_, &QTableView::customContextMenuRequested, this, &ProcessesView::ShowMenu);
}

QString ProcessesView::SummaryText() const { return summary_->text(); }

void ProcessesView::Refresh() {
  if (document_->session() == nullptr) {
    job_.Cancel();
    Show(nullptr);
    return;
  }
  // All processes are compared, also when the other views show one of them.
  analysis::AllocationFilter filter = selection_->filter();
  filter.process.reset();
  Source source{document_->session(), document_->report(), nullptr, filter};
  if (filter.category) source.categories = document_->categories();
  const auto done = [this, source](std::shared_ptr<const ProcessPicture> picture) {
    source_ = source;
    Show(std::move(picture));
  };
  if (picture_ != nullptr && source == source_) {
    job_.Start([picture = picture_, window = selection_->window()](
                   std::stop_token) { return WithWindow(*picture, window, kColumns); },
               done);
    return;
  }
  job_.Start(
      [source, symbols = document_->symbols(),
       window = selection_->window()](std::stop_token stop) {
        std::optional<analysis::AllocationSet> passing;
        if (!source.filter.everything())
          passing =
              analysis::Matching(*source.session, *symbols, source.categories.get(), source.filter);
        analysis::ProcessQuery query{window, kColumns, {}, passing ? &*passing : nullptr};
        if (source.report != nullptr) query.leaks = source.report->report.leaks.leaks;
        return MakeProcessPicture(source.session, query, stop);
      },
      done);
}

void ProcessesView::Show(std::shared_ptr<const ProcessPicture> picture) {
  picture_ = picture;
  lanes_->SetPicture(picture.get());
  model_->SetPicture(picture);
  if (picture == nullptr) {
    summary_->clear();
    legend_->clear();
    return;
  }
  QStringList sentences = ProcessSentences(*picture);
  for (QString& sentence : sentences) sentence = sentence.toHtmlEscaped();
  summary_->setText(sentences.join(QStringLiteral("<br>")));
  const Theme theme = Theme::From(palette());
  const auto entry = [](const QColor& color, const QString& text) {
    return QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2&nbsp;&nbsp; ")
        .arg(color.name(), text);
  };
  const bool framework = picture->in_use_peak.most > 0;
  QString legend =
      entry(theme.Band(framework ? BandRole::kCached : BandRole::kLinear), tr("driver memory"));
  if (framework) legend += entry(theme.Band(BandRole::kTensors), tr("in use by the framework"));
  legend += tr("lanes are %1 high").arg(FormatBytes(picture->highest));
  if (picture->figures.size() > 1) legend += tr("; click a process to show it alone in all views");
  legend_->setText(legend);
  Fit();
}

void ProcessesView::Fit() {
  if (model_->picture() == nullptr) return;
  const int rows = model_->rowCount();
  const int line = fontMetrics().height() + kSpace;
  // Lanes as high as fits, between one line and five.
  const int room = table_->viewport()->height() / std::max(1, rows);
  table_->verticalHeader()->setDefaultSectionSize(std::clamp(room, line, 5 * line));
  const int least = fontMetrics().averageCharWidth() * 20;
  int others = 0;
  for (int i = 0; i < ProcessModel::kColumnCount; ++i) {
    if (i == ProcessModel::kOverTime) continue;
    table_->setColumnHidden(i, model_->IsEmpty(i));
    if (model_->IsEmpty(i)) continue;
    const QFontMetrics strong(StrongFont(font()));
    int wide =
        strong.horizontalAdvance(model_->headerData(i, Qt::Horizontal, Qt::DisplayRole).toString());
    for (int row = 0; row < rows; ++row)
      wide = std::max(wide, strong.horizontalAdvance(model_->index(row, i).data().toString()));
    table_->setColumnWidth(i, std::min(wide + 2 * kSpace, 28 * kSpace));
    others += table_->columnWidth(i);
  }
  // What other views and the table's file have too; of several processes, what they differ in
  // stays.
  constexpr ProcessModel::Column kFirstToGo[] = {ProcessModel::kClock, ProcessModel::kEvents,
                                                 ProcessModel::kLog, ProcessModel::kPid,
                                                 ProcessModel::kDevices};
  std::vector<int> may_go;
  for (const int column : kFirstToGo) may_go.push_back(table_->columnWidth(column));
  const std::size_t gone = ColumnsToGo(others + least, may_go, table_->viewport()->width());
  for (std::size_t i = 0; i < gone; ++i) {
    others -= may_go[i];
    table_->setColumnHidden(kFirstToGo[i], true);
  }
  table_->setColumnWidth(ProcessModel::kOverTime,
                         std::max(least, table_->viewport()->width() - others));
}

void ProcessesView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  layout()->activate();
  Fit();
}

std::uint32_t ProcessesView::ProcessAt(const QModelIndex& index) const {
  return static_cast<std::uint32_t>(sorted_->mapToSource(index).row());
}

void ProcessesView::Choose(const QModelIndex& index) {
  if (!index.isValid() || model_->picture() == nullptr) return;
  const std::uint32_t process = ProcessAt(index);
  if (index.column() == ProcessModel::kOverTime) {
    const TimeScale scale = BarScale(*document_, *selection_, table_->visualRect(index));
    const double x = table_->viewport()->mapFromGlobal(QCursor::pos()).x();
    if (x >= scale.left && x <= scale.left + scale.width) selection_->SetInstant(scale.At(x));
  }
  if (model_->rowCount() < 2) return;
  analysis::AllocationFilter filter = selection_->filter();
  filter.process = process;
  selection_->SetFilter(filter);
  const std::vector<int>& devices = model_->picture()->figures[process].devices;
  const bool shown =
      std::find(devices.begin(), devices.end(), selection_->device()) != devices.end();
  if (!shown && !devices.empty()) selection_->SetDevice(devices.front());
}

void ProcessesView::ShowMenu(const QPoint& at) {
  const QModelIndex index = table_->indexAt(at);
  QMenu menu(this);
  if (index.isValid() && model_->rowCount() > 1) {
    menu.addAction(
        tr("In all views only %1").arg(ProcessName(*model_->picture()->session, ProcessAt(index))),
        this, [this, index] { Choose(index.siblingAtColumn(0)); });
  }
  if (selection_->filter().process) {
    menu.addAction(tr("Show all processes"), this, [this] {
      analysis::AllocationFilter filter = selection_->filter();
      filter.process.reset();
      selection_->SetFilter(filter);
    });
  }
  if (index.isValid()) menu.addActions(table_->actions());
  if (!menu.isEmpty()) menu.exec(table_->viewport()->mapToGlobal(at));
}

bool ProcessesView::WriteCsv(QTextStream* out) const {
  if (model_->picture() == nullptr) return false;
  WriteCsvRows(out, *sorted_, ProcessModel::kPlainRole);
  return true;
}

}  // namespace memprof::viewer
