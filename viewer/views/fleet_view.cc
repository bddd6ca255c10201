// The page of a fleet.
#include "viewer/views/fleet_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/models/fleet_rank_model.h"
#include "viewer/views/copy_rows.h"
#include "viewer/views/csv.h"
#include "viewer/views/fleet_canvas.h"
#include "viewer/views/page.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

QProgressBar* Endless(QWidget* parent) {
  auto* bar = new QProgressBar(parent);
  bar->setRange(0, 0);
  bar->setTextVisible(false);
  bar->setFixedHeight(6);
  return bar;
}

QString JobTitle(const FleetGrid& grid, const FleetJob& job) {
  const auto attempts = std::count_if(grid.jobs.begin(), grid.jobs.end(),
                                      [&](const FleetJob& other) { return other.job == job.job; });
  const QString attempt = attempts > 1 ? FleetView::tr(", attempt %1").arg(job.attempt) : QString();
  return FleetView::tr("%1%2 · %3 · %4")
      .arg(job.job.isEmpty() ? FleetView::tr("no name") : job.job, attempt, job.day,
           FormatPlural(static_cast<std::uint64_t>(job.ranks), FleetView::tr("rank")));
}

}  // namespace

FleetView::FleetView(QWidget* parent) : QWidget(parent) {
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  pages_ = new QStackedWidget(this);
  outer->addWidget(pages_);
  auto* wait = new QWidget(pages_);
  auto* wait_column = new QVBoxLayout(wait);
  waiting_ = SentenceLabel(wait);
  waiting_->setAlignment(Qt::AlignCenter);
  first_progress_ = Endless(wait);
  first_progress_->setFixedWidth(320);
  wait_column->addStretch(2);
  wait_column->addWidget(waiting_);
  wait_column->addWidget(first_progress_, 0, Qt::AlignHCenter);
  wait_column->addStretch(3);
  pages_->addWidget(wait);
  auto* content = new QWidget(pages_);
  QVBoxLayout* column = PageColumn(content);
  column->addWidget(BuildChoices());
  summary_ = SentenceLabel(content);
  summary_->setObjectName(QStringLiteral("summary"));
  summary_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  column->addWidget(summary_);
  progress_ = Endless(content);
  column->addWidget(progress_);
  auto* splitter = new QSplitter(Qt::Horizontal, content);
  splitter->setChildrenCollapsible(false);
  canvas_ = new FleetCanvas(splitter);
  splitter->addWidget(canvas_);
  splitter->addWidget(BuildTable());
  splitter->setStretchFactor(0, 1);
  splitter->setSizes({840, 400});
  column->addWidget(splitter, 1);
  column->addWidget(BuildActions());
  pages_->addWidget(content);
  Connect();
  ShowWaiting({});
}

QWidget* FleetView::BuildChoices() {
  auto* choices = new QWidget(this);
  auto* row = new QHBoxLayout(choices);
  row->setContentsMargins(0, 0, 0, 0);
  const auto add = [&](const QString& name, QComboBox** box) {
    auto* label = new QLabel(name, choices);
    *box = new QComboBox(choices);
    (*box)->setAccessibleName(QString(name).remove(QLatin1Char('&')));
    (*box)->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    label->setBuddy(*box);
    row->addWidget(label);
    row->addWidget(*box);
    row->addSpacing(kSpace);
  };
  add(tr("&Job"), &jobs_);
  add(tr("Fi&gure"), &figures_);
  add(tr("&Order"), &order_);
  add(tr("&Colour"), &coloring_);
  order_->addItems({tr("outliers first"), tr("by rank")});
  coloring_->addItems({tr("distance from the stage's median"), tr("the figure")});
  row->addStretch(1);
  return choices;
}

QWidget* FleetView::BuildTable() {
  model_ = new FleetRankModel(this);
  table_ = new QTableView(this);
  table_->setModel(model_);
  SetUpTable(table_, tr("Ranks"));
  table_->setWordWrap(false);
  table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + kSpace);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->horizontalHeader()->setResizeContentsPrecision(100);
  table_->horizontalHeader()->setStretchLastSection(true);
  AddCopyActions(table_);
  return table_;
}

QWidget* FleetView::BuildActions() {
  auto* actions = new QWidget(this);
  auto* row = new QHBoxLayout(actions);
  row->setContentsMargins(0, 0, 0, 0);
  compare_ = new QPushButton(tr("Compare with a typical rank"), actions);
  compare_->setToolTip(
      tr("Opens the log of the chosen rank beside that of a typical rank of its "
         "stage, in Diff (double click, Enter)"));
  compare_->setDefault(true);
  open_ = new QPushButton(tr("Open this rank's log"), actions);
  note_ = SentenceLabel(actions);
  row->addWidget(compare_);
  row->addWidget(open_);
  row->addWidget(note_, 1);
  return actions;
}

void FleetView::Connect() {
  connect(jobs_, &QComboBox::activated, this, &FleetView::Want);
  connect(figures_, &QComboBox::activated, this, &FleetView::Want);
  connect(order_, &QComboBox::currentIndexChanged, this, &FleetView::ShowRows);
  connect(coloring_, &QComboBox::currentIndexChanged, this, [this](int index) {
    canvas_->SetColoring(index == 0 ? FleetColoring::kApart : FleetColoring::kValue);
  });
  connect(summary_, &QLabel::linkActivated, this, &FleetView::ZoomToOutliers);
  connect(canvas_, &FleetCanvas::RowChosen, this, &FleetView::RowChosen);
  connect(canvas_, &FleetCanvas::RowActivated, this, &FleetView::CompareWanted);
  const auto row_of = [this](const QModelIndex& index) {
    return grid_->Order(order_->currentIndex() == 1)[static_cast<std::size_t>(index.row())];
  };
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this, row_of](const QModelIndex& now) {
            if (now.isValid() && grid_ != nullptr) canvas_->Choose(row_of(now));
          });
  connect(table_, &QTableView::activated, this,
          [this, row_of](const QModelIndex& index) { emit CompareWanted(row_of(index)); });
  connect(compare_, &QPushButton::clicked, this, [this] {
    if (canvas_->chosen()) emit CompareWanted(*canvas_->chosen());
  });
  connect(open_, &QPushButton::clicked, this, [this] {
    if (canvas_->chosen()) emit OpenWanted(*canvas_->chosen());
  });
}

QString FleetView::Summary() const {
  static const QRegularExpression tags(QStringLiteral("<[^>]*>"));
  return summary_->text().remove(tags);
}
QString FleetView::Note() const { return note_->text(); }
QString FleetView::Waiting() const { return waiting_->text(); }

void FleetView::ShowWaiting(const QString& what) {
  waiting_->setText(what.toHtmlEscaped());
  first_progress_->setVisible(!what.isEmpty());
  progress_->setVisible(true);
  ShowNote({});
}

void FleetView::ShowProblem(const QString& why) {
  waiting_->setText(why.toHtmlEscaped());
  first_progress_->setVisible(false);
  progress_->setVisible(false);
  if (grid_ == nullptr) return;
  FillChoices();  // back to what is shown
  ShowNote(why);
}

void FleetView::ShowNote(const QString& note) { note_->setText(note.toHtmlEscaped()); }

void FleetView::SetGrid(std::shared_ptr<const FleetGrid> grid) {
  // The same rank stays chosen where only the figure is another one.
  std::optional<std::int64_t> rank;
  if (grid_ != nullptr && canvas_->chosen() && grid_->job == grid->job)
    rank = grid_->rows[*canvas_->chosen()].rank;
  grid_ = std::move(grid);
  FillChoices();
  const std::uint64_t apart = CountApart();
  const QString size =
      tr("%1, %2").arg(FormatPlural(grid_->rows.size(), tr("rank")),
                       grid_->step_stride == 1 ? FormatPlural(grid_->columns, tr("step"))
                                               : tr("%1 columns of %2 steps each")
                                                     .arg(FormatCount(grid_->columns))
                                                     .arg(grid_->step_stride));
  const QString from_peers =
      tr("apart from the ranks of their stage by more than %1 robust standard deviations")
          .arg(FleetRankModel::kApart);
  const QString count = apart == 1 ? tr("1 is") : tr("%1 are").arg(FormatCount(apart));
  summary_->setText(apart == 0
                        ? tr("%1. None is %2.").arg(size, from_peers)
                        : tr("%1. <a href='outliers'>%2 %3</a>.").arg(size, count, from_peers));
  ShowNote({});
  progress_->setVisible(false);
  pages_->setCurrentIndex(1);
  ShowRows();
  std::size_t chosen = 0;
  for (std::size_t i = 0; rank && i < grid_->rows.size(); ++i)
    if (grid_->rows[i].rank == rank) chosen = i;
  canvas_->Choose(chosen);
}

std::size_t FleetView::CountApart() const {
  return static_cast<std::size_t>(
      std::count_if(grid_->rows.begin(), grid_->rows.end(), [](const FleetRow& row) {
        return row.distance && std::abs(*row.distance) > FleetRankModel::kApart;
      }));
}

void FleetView::ZoomToOutliers() {
  if (grid_ == nullptr) return;
  order_->setCurrentIndex(0);
  // With as many others below, for comparison.
  constexpr std::size_t kLeast = 20;
  HeatView view = canvas_->WholeView();
  view.row_end = std::min(view.row_end, std::max(kLeast, 2 * CountApart()));
  canvas_->SetView(view);
}

void FleetView::FillChoices() {
  jobs_->clear();
  for (const FleetJob& job : grid_->jobs) {
    jobs_->addItem(JobTitle(*grid_, job));
    if (job.job == grid_->job && job.attempt == grid_->attempt)
      jobs_->setCurrentIndex(jobs_->count() - 1);
  }
  figures_->clear();
  for (const QString& figure : grid_->figures) figures_->addItem(FigureTitle(figure), figure);
  figures_->setCurrentIndex(figures_->findData(grid_->figure));
}

void FleetView::Want() {
  FleetChoice choice;
  const int job = jobs_->currentIndex();
  if (job >= 0) {
    choice.job = grid_->jobs[static_cast<std::size_t>(job)].job;
    choice.attempt = grid_->jobs[static_cast<std::size_t>(job)].attempt;
  }
  choice.figure = figures_->currentData().toString();
  emit Wanted(choice);
}

void FleetView::ShowRows() {
  if (grid_ == nullptr) return;
  const std::vector<std::uint32_t> order = grid_->Order(order_->currentIndex() == 1);
  const auto chosen = canvas_->chosen();
  model_->SetGrid(grid_, order);
  canvas_->SetGrid(grid_, order);
  if (chosen && canvas_->chosen()) RowChosen(*chosen);
}

void FleetView::RowChosen(std::size_t row) {
  ShowNote({});
  const auto place = model_->PlaceOf(row);
  if (!place) return;
  if (table_->currentIndex().row() != *place)
    table_->setCurrentIndex(model_->index(*place, FleetRankModel::kRank));
  table_->scrollTo(model_->index(*place, FleetRankModel::kRank));
  compare_->setEnabled(grid_->rows[row].typical.has_value());
}

bool FleetView::WriteCsv(QTextStream* out) const {
  return WriteCsvRows(out, *model_, FleetRankModel::kPlainRole);
}

}  // namespace memprof::viewer
