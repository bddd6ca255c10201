// The table of tensors: what is asked, and what is shown of the answers.
#include "viewer/views/tensors_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/tensors_bars.h"
#include "viewer/views/tensors_completer.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::RowKind;
using analysis::RowScope;

// Rows that are looked through at once; more are looked through in a job.
constexpr int kFewRows = 50'000;

QString QueryHelp() {
  return TensorsView::tr(
      "<p>Terms, all of which must hold:</p><table cellspacing='2'>"
      "<tr><td><tt>attn</tt></td><td>in the name, or in the place of the allocation</td></tr>"
      "<tr><td><tt>name:attn</tt></td><td>also dtype, shape, category, layer, site; = for "
      "exactly</td></tr>"
      "<tr><td><tt>bytes&gt;1MiB</tt></td><td>also requested; &lt; &gt;= &lt;= or a range such as "
      "4KiB..1MiB</td></tr>"
      "<tr><td><tt>born:10..20</tt></td><td>steps; with a unit, time: born&gt;2s; likewise "
      "freed</td></tr>"
      "<tr><td><tt>lifetime&gt;250ms</tt></td><td>ns, us, ms, s, min, h</td></tr>"
      "<tr><td><tt>dtype:bf16,fp16</tt></td><td>either; also stream, device, process</td></tr>"
      "<tr><td><tt>alive</tt>, <tt>freed</tt></td><td>when the log ended</td></tr>"
      "<tr><td><tt>-category:activations</tt></td><td>- turns a term round</td></tr></table>");
}

}  // namespace

TensorsView::TensorsView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  column->setSpacing(kSpace);
  column->addWidget(BuildBar());
  error_ = new QLabel(this);
  error_->setTextFormat(Qt::PlainText);
  error_->setWordWrap(true);
  error_->setVisible(false);
  column->addWidget(error_);
  auto* line = new QHBoxLayout();
  summary_ = new QLabel(this);
  summary_->setTextFormat(Qt::PlainText);
  summary_->setWordWrap(true);
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  legend_ = new QLabel(this);
  legend_->setTextFormat(Qt::RichText);
  legend_->setFont(SmallFont(font()));
  legend_->setWordWrap(true);
  legend_->setAlignment(Qt::AlignRight | Qt::AlignTop);
  line->addWidget(summary_, 1);
  line->addWidget(legend_, 1);
  column->addLayout(line);
  model_ = new TensorModel(this);
  BuildTable();
  column->addWidget(table_, 1);
  typing_ = new QTimer(this);
  typing_->setSingleShot(true);
  typing_->setInterval(250);
  Connect();
  ShowSummary();
}

QWidget* TensorsView::BuildBar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kSpace);
  kind_ = new QComboBox(bar);
  kind_->setAccessibleName(tr("What is listed"));
  scope_ = new QComboBox(bar);
  // In the order of RowScope.
  scope_->addItems(
      {tr("All"), tr("Alive at the instant"), tr("Alive in the window"), tr("Born in the window")});
  scope_->setAccessibleName(tr("Of which time"));
  for (QComboBox* box : {kind_, scope_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    box->setMinimumWidth(100);
  }
  query_ = new QLineEdit(bar);
  query_->setPlaceholderText(tr("attn  bytes>1MiB  dtype:bf16  born:10..20  lifetime>2s  alive"));
  query_->setToolTip(QueryHelp());
  query_->setClearButtonEnabled(true);
  query_->setAccessibleName(tr("Which rows"));
  query_->setMinimumWidth(160);
  new TensorsCompleter(query_);
  row->addWidget(kind_);
  row->addWidget(scope_);
  row->addWidget(query_, 1);
  FillKinds();
  return bar;
}

void TensorsView::BuildTable() {
  table_ = new QTableView(this);
  auto* header = new TensorHeader(document_, selection_, TensorModel::kBars, table_);
  table_->setHorizontalHeader(header);
  table_->setModel(model_);
  table_->setAccessibleName(tr("Tensors"));
  table_->setFrameShape(QFrame::NoFrame);
  table_->setShowGrid(false);
  table_->setAlternatingRowColors(true);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setTextElideMode(Qt::ElideMiddle);
  table_->setWordWrap(false);
  table_->setTabKeyNavigation(false);
  table_->setCornerButtonEnabled(false);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->setAutoScroll(true);
  table_->verticalHeader()->setVisible(false);
  table_->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  table_->verticalHeader()->setMinimumSectionSize(1);
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + kSpace);
  table_->setItemDelegate(new BarDelegate(TensorModel::kShareRole, table_));
  bars_ = new TensorBars(document_, selection_, model_, table_);
  table_->setItemDelegateForColumn(TensorModel::kBars, bars_);
  table_->setSortingEnabled(true);
  {
    const QSignalBlocker blocker(model_);
    header->setSortIndicator(TensorModel::kBytes, Qt::DescendingOrder);
  }
  header->setContextMenuPolicy(Qt::CustomContextMenu);
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  table_->installEventFilter(this);
  const int letter = fontMetrics().averageCharWidth();
  constexpr std::array<int, TensorModel::kColumnCount> kLetters = {
      26, 15, 7, 16, 12, 40, 13, 9, 10, 12, 12, 12, 14, 12, 9, 10, 40};
  for (int i = 0; i < TensorModel::kColumnCount; ++i)
    header->resizeSection(i, letter * kLetters[static_cast<std::size_t>(i)] + kSpace);
}

void TensorsView::Connect() {
  const auto again = [this] { Invalidate(); };
  const auto repaint = [this] {
    table_->viewport()->update();
    table_->horizontalHeader()->viewport()->update();
  };
  connect(document_, &Document::StateChanged, this, &TensorsView::Restart);
  connect(document_, &Document::CategoriesReady, this, again);
  connect(document_, &Document::PassingChanged, this, again);
  connect(selection_, &Selection::InstantChanged, this, [this] {
    // Only the bars show it.
    table_->viewport()->update(table_->columnViewportPosition(TensorModel::kBars), 0,
                               table_->columnWidth(TensorModel::kBars),
                               table_->viewport()->height());
    if (scope_->currentIndex() == static_cast<int>(RowScope::kAliveAtInstant)) Invalidate();
  });
  connect(selection_, &Selection::ZoomChanged, this, [this, repaint] {
    repaint();
    if (scope_->currentIndex() >= static_cast<int>(RowScope::kAliveInWindow)) Invalidate();
  });
  connect(selection_, &Selection::AxisChanged, this, repaint);
  connect(selection_, &Selection::SelectionChanged, this, &TensorsView::Follow);
  connect(kind_, &QComboBox::activated, this, [this] { kind_chosen_ = true; });
  connect(kind_, &QComboBox::currentIndexChanged, this, again);
  connect(scope_, &QComboBox::currentIndexChanged, this, again);
  connect(model_, &TensorModel::SortRequested, this, again);
  connect(query_, &QLineEdit::textChanged, typing_, qOverload<>(&QTimer::start));
  connect(query_, &QLineEdit::returnPressed, this, [this] {
    typing_->stop();
    Invalidate();
  });
  connect(typing_, &QTimer::timeout, this, again);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &TensorsView::Chosen);
  connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
    if (index.column() != TensorModel::kBars) return;
    const QRectF cell = table_->visualRect(index);
    const double x = table_->viewport()->mapFromGlobal(QCursor::pos()).x();
    selection_->SetInstant(BarScale(*document_, *selection_, cell).At(x));
  });
  // Enter, or a double click: to where it was born.
  connect(table_, &QTableView::activated, this, [this](const QModelIndex& index) {
    const analysis::AllocationRecord& record = model_->record(index.row());
    selection_->SetInstant(tensors_->session().events().time(record.birth.value));
  });
  connect(table_, &QTableView::customContextMenuRequested, this, &TensorsView::ShowMenu);
  connect(table_->horizontalHeader(), &QHeaderView::customContextMenuRequested, this,
          &TensorsView::ShowHeaderMenu);
}

QString TensorsView::SummaryText() const { return summary_->text(); }
QString TensorsView::ErrorText() const {
  return error_->isVisibleTo(this) ? error_->text() : QString();
}
RowKind TensorsView::Kind() const {
  return static_cast<RowKind>(std::max(0, kind_->currentIndex()));
}
void TensorsView::SetKind(RowKind kind) {
  kind_chosen_ = true;
  kind_->setCurrentIndex(static_cast<int>(kind));
}
void TensorsView::SetScope(RowScope scope) { scope_->setCurrentIndex(static_cast<int>(scope)); }
void TensorsView::SetQuery(const QString& text) {
  query_->setText(text);
  typing_->stop();
  Invalidate();
}

void TensorsView::AddTerm(const QString& term) {
  const QString before = query_->text().trimmed();
  SetQuery(before.isEmpty() ? term : before + QLatin1Char(' ') + term);
}

bool TensorsView::FocusSearch() {
  query_->setFocus(Qt::ShortcutFocusReason);
  query_->selectAll();
  return true;
}

// In the order of RowKind.
void TensorsView::FillKinds() {
  const QSignalBlocker blocker(kind_);
  const int shown = std::max(0, kind_->currentIndex());
  kind_->clear();
  constexpr std::array<const char*, analysis::kRowKindCount> kTitles = {"Tensors", "Blocks",
                                                                        "Driver memory"};
  for (std::size_t i = 0; i < kTitles.size(); ++i) {
    QString title = tr(kTitles[i]);
    if (tensors_ != nullptr)
      title += QStringLiteral(" (%1)").arg(FormatCount(tensors_->count(static_cast<RowKind>(i))));
    kind_->addItem(title);
  }
  const bool usual = tensors_ != nullptr && !kind_chosen_;
  kind_->setCurrentIndex(usual ? static_cast<int>(tensors_->Usual()) : shown);
}

void TensorsView::Restart() {
  if (of_ == document_->session()) return;
  if (!document_->grew()) {
    for (JobTracker* job : {&table_job_, &sites_job_, &rows_job_, &find_job_}) job->Cancel();
    tensors_.reset();
    sites_.reset();
    model_->SetData({});
    ShowSummary();
  }
  of_.reset();
  Invalidate();
}

void TensorsView::Refresh() {
  if (document_->session() == nullptr) return;
  const auto parsed = analysis::ParseTensorQuery(query_->text().toStdString());
  error_->setVisible(!parsed.ok());
  if (parsed.ok()) {
    parsed_ = *parsed;
  } else {
    QPalette palette = this->palette();
    const QColor danger = Theme::From(palette).danger;
    palette.setColor(QPalette::WindowText, danger);
    palette.setColor(QPalette::Text, danger);
    error_->setPalette(palette);
    error_->setText(ToQString(std::string(parsed.status().message())));
  }
  if (of_ != document_->session()) {
    AskForTable();
  } else if (tensors_ != nullptr) {
    AskForRows();
  }
}

void TensorsView::AskForTable() {
  of_ = document_->session();
  sites_job_.Cancel();
  table_job_.Start(
      [session = of_](std::stop_token) {
        return std::make_shared<const analysis::TensorTable>(session);
      },
      [this](std::shared_ptr<const analysis::TensorTable> table) {
        tensors_ = std::move(table);
        sites_.reset();
        FillKinds();
        AskForRows();
        AskForSites();
      });
}

void TensorsView::AskForSites() {
  sites_job_.Start(
      [session = of_, symbols = document_->symbols()](std::stop_token stop) {
        return std::make_shared<const analysis::SiteNames>(analysis::NameSites(
            *session, *symbols,
            [](const analysis::SourceFrame& frame) { return ShortSite(frame).toStdString(); },
            stop));
      },
      [this](std::shared_ptr<const analysis::SiteNames> sites) {
        sites_ = std::move(sites);
        if (model_->contents().table == tensors_) model_->SetSites(sites_);
        const bool needed = std::any_of(
            parsed_.conditions.begin(), parsed_.conditions.end(), [](const auto& condition) {
              return condition.kind == analysis::TensorCondition::Kind::kAnywhere ||
                     condition.field == analysis::TensorField::kSite;
            });
        if (needed || asked_.sort == analysis::TensorField::kSite) Invalidate();
      });
}

// A log that grows is read anew while jobs about what it was still run: their ids mean others now.
bool TensorsView::IsCurrent() const {
  return tensors_ != nullptr && &tensors_->session() == document_->session().get();
}

void TensorsView::AskForRows() {
  if (!IsCurrent()) return;
  const QHeaderView* header = table_->horizontalHeader();
  asked_.kind = Kind();
  asked_.scope = static_cast<RowScope>(scope_->currentIndex());
  asked_.instant = selection_->instant();
  asked_.window = selection_->window();
  asked_.query = parsed_;
  asked_.sort = TensorModel::FieldOf(std::max(0, header->sortIndicatorSection()));
  asked_.descending = header->sortIndicatorOrder() == Qt::DescendingOrder;
  rows_job_.Start(
      [table = tensors_, categories = document_->categories(), sites = sites_,
       passing = document_->passing(), query = asked_](std::stop_token stop) {
        return std::make_shared<const analysis::TensorRows>(
            analysis::FindRows(*table, categories.get(), sites.get(), passing.get(), query, stop));
      },
      [this](std::shared_ptr<const analysis::TensorRows> rows) { ShowRows(std::move(rows)); });
}

void TensorsView::ShowRows(std::shared_ptr<const analysis::TensorRows> rows) {
  if (!IsCurrent()) return;
  following_ = true;
  const bool same = model_->contents().table == tensors_;
  const int scrolled = same ? table_->verticalScrollBar()->value() : 0;
  model_->SetData({tensors_, document_->categories(), sites_, std::move(rows)});
  table_->verticalScrollBar()->setValue(scrolled);
  following_ = false;
  FitColumns();
  ShowSummary();
  if (model_->rowCount() <= kFewRows)
    GoTo(FindRow(*tensors_, *model_->contents().rows, selection_->allocation()), false);
}

void TensorsView::FitColumns() {
  const bool driver = Kind() == RowKind::kDriver;
  // Names, types and shapes are of tensors: driver memory has them where a tensor lies in it.
  const bool tensors = tensors_->count(RowKind::kTensors) > 0;
  for (const int column : {TensorModel::kName, TensorModel::kShape, TensorModel::kDtype})
    table_->setColumnHidden(column, !tensors);
  table_->setColumnHidden(TensorModel::kLayer, !driver);
  table_->setColumnHidden(TensorModel::kRequested, driver);
  const bool steps = !tensors_->session().steps().empty();
  table_->setColumnHidden(TensorModel::kBornStep, !steps);
  table_->setColumnHidden(TensorModel::kFreedStep, !steps);
  table_->setColumnHidden(TensorModel::kProcess, tensors_->session().processes().size() < 2);
  table_->setColumnHidden(TensorModel::kDevice,
                          tensors_->session().devices().size() < 2 && !driver);
  StretchBars();
}

// The bars take what the other columns leave.
void TensorsView::StretchBars() {
  const QHeaderView* header = table_->horizontalHeader();
  int others = 0;
  for (int i = 0; i < TensorModel::kColumnCount; ++i)
    if (i != TensorModel::kBars) others += header->sectionSize(i);  // 0 of hidden ones
  const int least = fontMetrics().averageCharWidth() * 40;
  table_->setColumnWidth(TensorModel::kBars, std::max(least, table_->viewport()->width() - others));
}

void TensorsView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  layout()->activate();
  StretchBars();
}

void TensorsView::ShowSummary() {
  const TensorData& shown = model_->contents();
  if (shown.rows == nullptr) {
    summary_->setText(document_->session() == nullptr ? QString() : tr("Listing …"));
    legend_->clear();
    return;
  }
  const RowKind kind = shown.rows->kind;
  const std::uint64_t all = tensors_->count(kind);
  if (shown.rows->rows.empty()) {
    summary_->setText(Nothing());
    legend_->clear();
    return;
  }
  QString text =
      shown.rows->rows.size() == all
          ? tr("%1, %2 in all")
                .arg(FormatPlural(all, RowNoun(kind)), FormatBytes(shown.rows->bytes))
          : tr("%1 of %2, %3 of %4 in all")
                .arg(FormatCount(shown.rows->rows.size()), FormatPlural(all, RowNoun(kind)),
                     FormatBytes(shown.rows->bytes), FormatBytes(tensors_->bytes(kind)));
  if (tensors_->count(RowKind::kTensors) == 0)
    text += tr(". The program named no tensors (memprof_tensor_create() names them)");
  summary_->setText(text);
  const Theme theme = Theme::From(palette());
  QString legend;
  for (std::size_t i = 1; i < analysis::kCategoryCount; ++i) {
    const auto category = static_cast<analysis::Category>(i);
    if (category == analysis::Category::kSlack) continue;
    legend += QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2&nbsp; ")
                  .arg(CategoryColor(theme, category).name(),
                       ToQString(analysis::CategoryName(category))
                           .replace(QLatin1Char(' '), QStringLiteral("&nbsp;")));
  }
  legend_->setText(legend);
}

QString TensorsView::Nothing() const {
  const RowKind kind = model_->contents().rows->kind;
  const QString noun = RowNoun(kind);
  if (tensors_->count(kind) == 0) {
    if (kind == RowKind::kTensors)
      return tr(
          "No tensor is named in this log. Programs name them with memprof_tensor_create(); "
          "blocks and driver memory are listed without.");
    if (kind == RowKind::kBlocks)
      return tr("No block: no framework's allocator was seen in this log. Choose driver memory.");
    return tr("No driver allocation is in this log.");
  }
  QStringList narrowed;
  if (!parsed_.conditions.empty()) narrowed << tr("the query");
  if (asked_.scope != RowScope::kAll) narrowed << tr("the choice of time");
  if (document_->passing() != nullptr) narrowed << tr("the filter above");
  return tr("None of %1 is left by %2. Widen it to see more.")
      .arg(FormatPlural(tensors_->count(kind), noun),
           narrowed.isEmpty() ? tr("what is asked") : narrowed.join(tr(" and ")));
}

void TensorsView::Chosen(const QModelIndex& index) {
  if (following_ || !index.isValid()) return;
  const AllocationId id = model_->allocation(index.row());
  following_ = true;
  selection_->SelectAllocation(id, model_->record(index.row()).stack);
  following_ = false;
}

void TensorsView::Follow() {
  find_job_.Cancel();
  if (following_ || model_->contents().rows == nullptr) return;
  const AllocationId id = selection_->allocation();
  if (!id.valid()) return;
  if (model_->rowCount() <= kFewRows) {
    GoTo(FindRow(*tensors_, *model_->contents().rows, id), true);
    return;
  }
  find_job_.Start([table = tensors_, rows = model_->contents().rows, id](
                      std::stop_token) { return std::make_pair(rows, FindRow(*table, *rows, id)); },
                  [this](const std::pair<std::shared_ptr<const analysis::TensorRows>, int>& found) {
                    if (found.first == model_->contents().rows) GoTo(found.second, true);
                  });
}

void TensorsView::GoTo(int row, bool scroll) {
  following_ = true;
  if (row < 0) {
    table_->clearSelection();
  } else {
    const int column = std::max(0, table_->currentIndex().column());
    const QModelIndex index = model_->index(row, column);
    table_->setAutoScroll(false);
    table_->setCurrentIndex(index);
    table_->setAutoScroll(true);
    if (scroll) {
      const int across = table_->horizontalScrollBar()->value();
      table_->scrollTo(index, QAbstractItemView::PositionAtCenter);
      table_->horizontalScrollBar()->setValue(across);
    }
  }
  following_ = false;
}

bool TensorsView::WriteCsv(QTextStream* out) const {
  if (model_->contents().rows == nullptr) return false;
  QList<int> columns;
  QStringList headings;
  for (int i = 0; i < TensorModel::kColumnCount; ++i) {
    const QString heading =
        model_->headerData(i, Qt::Horizontal, TensorModel::kPlainRole).toString();
    if (heading.isEmpty()) continue;
    columns << i;
    headings << heading;
  }
  *out << headings.join(QLatin1Char(',')) << '\n';
  for (int row = 0; row < model_->rowCount(); ++row) {
    for (const int column : columns) {
      if (column != columns.front()) *out << ',';
      *out << CsvField(model_->index(row, column).data(TensorModel::kPlainRole).toString());
    }
    *out << '\n';
  }
  return true;
}

}  // namespace memprof::viewer
