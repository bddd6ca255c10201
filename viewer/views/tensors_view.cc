// The table of tensors: the query and the layout. Rows are found in tensors_rows.cc, the summary is
// in tensors_summary.cc, menus are in tensors_menu.cc.
#include "viewer/views/tensors_view.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTableView>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "viewer/geometry/line_fit.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/copy_rows.h"
#include "viewer/views/csv.h"
#include "viewer/views/page.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/tensors_bars.h"
#include "viewer/views/tensors_completer.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

using analysis::RowKind;
using analysis::RowScope;

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
      "<tr><td><tt>-category:activations</tt></td><td>- negates a term</td></tr></table>");
}

constexpr int kLeastBars = 20;  // in letters

int StartWidth(const QWidget& view, int column) {
  constexpr std::array<int, TensorModel::kColumnCount> kLetters = {
      26, 15, 8, 17, 12, 40, 13, 9, 10, 12, 12, 12, 14, 12, 9, 10, 40};
  return view.fontMetrics().averageCharWidth() * kLetters[static_cast<std::size_t>(column)] +
         kSpace;
}

}  // namespace

TensorsView::TensorsView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  QVBoxLayout* column = PageColumn(this);
  column->addWidget(BuildBar());
  error_ = new QLabel(this);
  error_->setTextFormat(Qt::PlainText);
  error_->setWordWrap(true);
  error_->setVisible(false);
  column->addWidget(error_);
  auto* line = new QHBoxLayout();
  summary_ = SentenceLabel(this);
  summary_->setTextFormat(Qt::PlainText);
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
  auto* columns = new QToolButton(bar);
  columns->setText(tr("Columns ▾"));
  columns->setStyleSheet(QStringLiteral("QToolButton::menu-indicator { image: none; }"));
  columns->setPopupMode(QToolButton::InstantPopup);
  columns->setAutoRaise(true);
  auto* menu = new QMenu(columns);
  connect(menu, &QMenu::aboutToShow, this, [this, menu] {
    menu->clear();
    FillColumnMenu(menu);
  });
  columns->setMenu(menu);
  row->addWidget(columns);
  FillKinds();
  return bar;
}

void TensorsView::BuildTable() {
  table_ = new QTableView(this);
  auto* header = new TensorHeader(document_, selection_, TensorModel::kBars, table_);
  table_->setHorizontalHeader(header);
  table_->setModel(model_);
  SetUpTable(table_, tr("Tensors"));
  table_->setAlternatingRowColors(true);
  table_->setWordWrap(false);
  table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->setAutoScroll(true);
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
  AddCopyActions(table_, {.drawn = TensorModel::kBars, .menu = false});
  for (int i = 0; i < TensorModel::kColumnCount; ++i)
    header->resizeSection(i, StartWidth(*this, i));
  table_->viewport()->installEventFilter(this);
}

void TensorsView::Connect() {
  const auto again = [this] { Invalidate(); };
  // Only the column of bars shows times: a large window has thousands of other cells.
  const auto repaint = [this] {
    const int left = table_->columnViewportPosition(TensorModel::kBars);
    const int width = table_->columnWidth(TensorModel::kBars);
    for (QWidget* part : {table_->viewport(), table_->horizontalHeader()->viewport()})
      part->update(left, 0, width, part->height());
  };
  connect(document_, &Document::StateChanged, this, &TensorsView::Restart);
  connect(document_, &Document::CategoriesReady, this, again);
  connect(document_, &Document::PassingChanged, this, again);
  connect(selection_, &Selection::InstantChanged, this, [this, repaint] {
    repaint();
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

bool TensorsView::HasContent(int column) const {
  const bool driver = Kind() == RowKind::kDriver;
  const analysis::Session& session = tensors_->session();
  switch (column) {
    case TensorModel::kName:
    case TensorModel::kShape:
    case TensorModel::kDtype:  // driver memory shows those of a tensor in it
      return tensors_->count(RowKind::kTensors) > 0;
    case TensorModel::kLayer:
      return driver;
    case TensorModel::kRequested:
      return !driver;
    case TensorModel::kBornStep:
    case TensorModel::kFreedStep:
      return !session.steps().empty();
    case TensorModel::kProcess:
      return session.processes().size() > 1;
    case TensorModel::kDevice:
      return session.devices().size() > 1 || driver;
    default:
      return true;
  }
}

int TensorsView::WidthOf(int column) const {
  if (column == TensorModel::kBars) return kLeastBars * fontMetrics().averageCharWidth();
  const int shown = table_->columnWidth(column);  // 0 if hidden
  return shown > 0 ? shown : StartWidth(*this, column);
}

// What the bars and the details also tell goes first. What the user chose stays.
void TensorsView::FitColumns() {
  if (tensors_ == nullptr) return;
  constexpr TensorModel::Column kFirstToGo[] = {
      TensorModel::kRequested, TensorModel::kStream,   TensorModel::kFreed,    TensorModel::kBorn,
      TensorModel::kFreedStep, TensorModel::kBornStep, TensorModel::kLifetime, TensorModel::kSite,
      TensorModel::kDevice,    TensorModel::kDtype,    TensorModel::kCategory, TensorModel::kShape};
  std::array<bool, TensorModel::kColumnCount> shown{};
  int width = 0;
  for (int i = 0; i < TensorModel::kColumnCount; ++i) {
    const auto at = static_cast<std::size_t>(i);
    shown[at] = chosen_[at].value_or(HasContent(i));
    if (shown[at]) width += WidthOf(i);
  }
  std::vector<int> may_go;
  for (const TensorModel::Column column : kFirstToGo)
    may_go.push_back(shown[column] && !chosen_[column].has_value() ? WidthOf(column) : 0);
  const std::size_t gone = ColumnsToGo(width, may_go, table_->viewport()->width());
  for (std::size_t i = 0; i < gone; ++i)
    if (may_go[i] > 0) shown[kFirstToGo[i]] = false;
  for (int i = 0; i < TensorModel::kColumnCount; ++i)
    table_->setColumnHidden(i, !shown[static_cast<std::size_t>(i)]);
  StretchBars();
}

// The bars get the width that the other columns leave.
void TensorsView::StretchBars() {
  const QHeaderView* header = table_->horizontalHeader();
  int others = 0;
  for (int i = 0; i < TensorModel::kColumnCount; ++i)
    if (i != TensorModel::kBars) others += header->sectionSize(i);  // 0 for hidden ones
  table_->setColumnWidth(TensorModel::kBars, std::max(WidthOf(TensorModel::kBars),
                                                      table_->viewport()->width() - others));
}

// The viewport also changes when there is a scroll bar.
bool TensorsView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize && watched == table_->viewport()) FitColumns();
  return View::eventFilter(watched, event);
}

bool TensorsView::WriteCsv(QTextStream* out) const {
  if (model_->contents().rows == nullptr) return false;
  WriteCsvRows(out, *model_, TensorModel::kPlainRole);
  return true;
}

}  // namespace memprof::viewer
