// Suspected leaks by tier: which are shown. Their evidence is in leak_evidence.cc.
#include "viewer/views/leak_view.h"

#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QSplitter>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "analysis/base/status_text.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/call_table.h"
#include "viewer/views/copy_rows.h"
#include "viewer/views/frame_actions.h"
#include "viewer/views/name_delegate.h"
#include "viewer/views/page.h"
#include "viewer/views/survivor_chart.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

LeakView::LeakView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent), access_(AccessIndex::Of(document)) {
  BuildActions();
  QVBoxLayout* column = PageColumn(this);
  column->addWidget(BuildHeader());
  splitter_ = new QSplitter(Qt::Vertical, this);
  splitter_->setChildrenCollapsible(false);
  splitter_->addWidget(BuildTable());
  evidence_ = BuildEvidence();
  splitter_->addWidget(evidence_);
  splitter_->setStretchFactor(0, 2);
  splitter_->setStretchFactor(1, 3);
  column->addWidget(splitter_, 1);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) { ShowLeak(index); });
  connect(document, &Document::ReportReady, this, &LeakView::Fill);
  connect(document, &Document::StateChanged, this, &LeakView::Fill);
  connect(document, &Document::PassingChanged, this, [this] { Invalidate(); });
  connect(access_, &AccessIndex::Ready, this, [this] { Invalidate(); });
  connect(selection, &Selection::SelectionChanged, this, &LeakView::Follow);
}

void LeakView::BuildActions() {
  suppress_ = new QAction(tr("&Suppress here"), this);
  suppress_->setShortcut(QKeySequence(Qt::Key_Delete));
  suppress_->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  suppress_->setToolTip(tr("Leave this leak out, in this window only"));
  connect(suppress_, &QAction::triggered, this, &LeakView::SuppressCurrent);
  copy_suppression_ = new QAction(tr("Copy as su&ppression"), this);
  connect(copy_suppression_, &QAction::triggered, this,
          [this] { QGuiApplication::clipboard()->setText(CurrentAsSuppression()); });
  undo_ = new QAction(tr("&Undo suppression"), this);
  undo_->setShortcut(QKeySequence::Undo);
  undo_->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  undo_->setEnabled(false);
  connect(undo_, &QAction::triggered, this, &LeakView::UndoSuppression);
  open_file_ = new QAction(tr("Open a &file of suppressions …"), this);
  connect(open_file_, &QAction::triggered, this, &LeakView::ChooseFile);
  for (QAction* action : {suppress_, undo_}) addAction(action);
}

QWidget* LeakView::BuildHeader() {
  auto* header = new QWidget(this);
  auto* row = new QHBoxLayout(header);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(2 * kSpace);
  verdict_ = new QLabel(tr("Judging what survives …"), header);
  verdict_->setWordWrap(true);
  verdict_->setTextFormat(Qt::PlainText);
  hidden_ = new QLabel(header);
  hidden_->setTextFormat(Qt::PlainText);
  auto* button = new QToolButton(header);
  button->setText(tr("Suppressions ▾"));
  button->setStyleSheet(QStringLiteral("QToolButton::menu-indicator { image: none; }"));
  button->setPopupMode(QToolButton::InstantPopup);
  button->setToolButtonStyle(Qt::ToolButtonTextOnly);
  button->setAutoRaise(true);
  auto* menu = new QMenu(button);
  menu->addActions({suppress_, copy_suppression_, undo_});
  menu->addSeparator();
  menu->addAction(open_file_);
  button->setMenu(menu);
  row->addWidget(verdict_, 1);
  row->addWidget(hidden_);
  row->addWidget(button, 0, Qt::AlignTop);
  return header;
}

QWidget* LeakView::BuildTable() {
  model_ = new LeakModel(this);
  table_ = new QTreeView(this);
  table_->setModel(model_);
  table_->setAccessibleName(tr("Leaks"));
  SetUpTable(table_);
  AddCopyActions(table_, {.menu = false});
  table_->setItemDelegate(new BarDelegate(LeakModel::kShareRole, table_));
  for (const int column : {LeakModel::kSite, LeakModel::kExample})
    table_->setItemDelegateForColumn(column, new NameDelegate(table_));
  table_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->header()->setSectionResizeMode(LeakModel::kSite, QHeaderView::Stretch);
  table_->header()->setSectionResizeMode(LeakModel::kExample, QHeaderView::Interactive);
  // Worst first, until the user chooses another order.
  StyleSortArrow(table_->header());
  table_->header()->setSortIndicator(-1, Qt::DescendingOrder);
  table_->setSortingEnabled(true);
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(table_, &QTreeView::customContextMenuRequested, this, &LeakView::ShowMenu);
  connect(table_, &QTreeView::doubleClicked, this, [this](const QModelIndex& index) {
    const LeakRow* row = model_->leak(index);
    if (row != nullptr) OpenInEditor(this, *document_, row->site);
  });
  table_->installEventFilter(this);
  return table_;
}

bool LeakView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == table_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const LeakRow* row = model_->leak(table_->currentIndex());
    if (row != nullptr && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
      OpenInEditor(this, *document_, row->site);
      return true;
    }
  }
  return View::eventFilter(watched, event);
}

void LeakView::ShowMenu(const QPoint& at) {
  const QModelIndex index = table_->indexAt(at);
  const LeakRow* row = model_->leak(index);
  if (row == nullptr) return;
  table_->setCurrentIndex(index);
  QMenu menu(this);
  menu.addAction(suppress_);
  menu.addAction(copy_suppression_);
  menu.addActions(table_->actions());
  copy_suppression_->setEnabled(!CurrentAsSuppression().isEmpty());
  menu.addSeparator();
  AddFrameActions(&menu, this, document_, selection_, {row->site, row->leak.stack});
  menu.exec(table_->viewport()->mapToGlobal(at));
  copy_suppression_->setEnabled(true);
}

void LeakView::Fill() {
  if (document_->report() != survivors_.report) survivors_ = {};
  if (document_->report() != hidden_rows_.report) hidden_rows_ = {};
  ShowRows();
  if (!suppressions_.empty()) AskHidden();
  if (document_->report() != nullptr) Invalidate();
}

void LeakView::AskSurvivors() {
  const auto& report = document_->report();
  if (report == nullptr) return;
  survivors_job_.Start(
      [session = document_->session(), report, passing = document_->passing(),
       uses = access_->Ask()](std::stop_token) {
        std::vector<analysis::Leak> leaks;
        for (const std::vector<LeakRow>* rows : report->rows())
          for (const LeakRow& row : *rows) leaks.push_back(row.leak);
        return Survivors{report, uses != nullptr,
                         analysis::DescribeSurvivors(*session, leaks, passing.get(),
                                                     uses == nullptr ? nullptr : &uses->accesses)};
      },
      [this](Survivors survivors) {
        survivors_ = std::move(survivors);
        ShowRows();
      });
}

void LeakView::AskHidden() {
  const auto& report = document_->report();
  if (report == nullptr) return;
  hidden_job_.Start(
      [report, suppressions = suppressions_](std::stop_token stop) {
        Hidden hidden{report, {}};
        for (const std::vector<LeakRow>* rows : report->rows())
          for (const LeakRow& row : *rows)
            hidden.rows.push_back(!stop.stop_requested() && suppressions.Hides(row));
        return hidden;
      },
      [this](Hidden hidden) {
        hidden_rows_ = std::move(hidden);
        ShowRows();
      });
}

int LeakView::RowOf(const LeakRow& row) const {
  const auto& report = document_->report();
  if (report == nullptr) return -1;
  // The index is computed from the address of the row, which is an element of the report's vectors.
  int before = 0;
  for (const std::vector<LeakRow>* rows : report->rows()) {
    if (!rows->empty() && &row >= &rows->front() && &row <= &rows->back())
      return before + static_cast<int>(&row - rows->data());
    before += static_cast<int>(rows->size());
  }
  return -1;
}

const analysis::SurvivorFacts* LeakView::FactsOf(const LeakRow& row) const {
  if (survivors_.report == nullptr || survivors_.report != document_->report()) return nullptr;
  const int index = RowOf(row);
  return index < 0 ? nullptr : &survivors_.facts[static_cast<std::size_t>(index)];
}

void LeakView::ShowRows() {
  const auto& report = document_->report();
  const LeakRow* kept = model_->leak(table_->currentIndex());
  const analysis::StackId stack = kept == nullptr ? analysis::StackId() : kept->leak.stack;
  chart_->SetLeak(nullptr, 0);
  stack_->Clear();
  holders_->Clear();
  evidence_->setVisible(false);
  int suppressed = 0, filtered = 0;
  const bool filtering = document_->passing() != nullptr;
  model_->SetReport(report, [&](const LeakRow& row) {
    const analysis::SurvivorFacts* facts = FactsOf(row);
    const int index = RowOf(row);
    if (index >= 0 && hidden_rows_.report == report &&
        hidden_rows_.rows[static_cast<std::size_t>(index)]) {
      ++suppressed;
    } else if (filtering && facts != nullptr && facts->passing == 0) {
      ++filtered;
    } else {
      return true;
    }
    return false;
  });
  QStringList hidden;
  if (suppressed > 0) hidden << tr("%1 suppressed").arg(suppressed);
  if (filtered > 0) hidden << tr("%1 filtered out").arg(filtered);
  hidden_->setText(hidden.join(QStringLiteral("  ·  ")));
  undo_->setEnabled(!suppressions_.empty());
  undo_->setText(suppressions_.empty()
                     ? tr("&Undo suppression")
                     : tr("&Undo suppression of %1").arg(suppressions_.LastText()));
  if (report == nullptr) {
    verdict_->setText(tr("Judging what survives …"));
    return;
  }
  verdict_->setText(Words(report->report.leaks.verdict));
  table_->expandAll();
  FitTable();
  if (model_->rowCount() == 0) return;
  // The same leak as before, otherwise the worst one; without making it the selection of the other
  // views.
  QModelIndex current = model_->FindSite(stack);
  if (!current.isValid()) current = model_->FindSite(selection_->site());
  if (!current.isValid()) current = model_->index(0, 0, model_->index(0, 0));
  following_ = true;
  table_->setCurrentIndex(current);
  following_ = false;
}

void LeakView::FitTable() {
  int rows = 0;
  for (int tier = 0; tier < model_->rowCount(); ++tier) {
    rows += 1 + model_->rowCount(model_->index(tier, 0));
  }
  SetUpperRows(splitter_, table_, rows, 3, splitter_->height() * 2 / 5);
  FitColumns();
}

// Sites are more important: examples get the remaining width, but at least a minimum.
void LeakView::FitColumns() {
  HideColumns(table_,
              {LeakModel::kLayer, LeakModel::kScore, LeakModel::kFirstStep, LeakModel::kExample,
               LeakModel::kBlocks},
              LeakModel::kSite, 20 * fontMetrics().averageCharWidth());
  const QAbstractItemView* view = table_;
  QHeaderView* header = table_->header();
  int left = table_->viewport()->width();
  for (int column = 0; column < header->count(); ++column)
    if (column != LeakModel::kSite && column != LeakModel::kExample)
      left -= header->sectionSize(column);
  const int example = std::max(view->sizeHintForColumn(LeakModel::kExample),
                               header->sectionSizeHint(LeakModel::kExample));
  const int least =
      std::max(header->sectionSizeHint(LeakModel::kExample), std::min(example, left / 3));
  header->resizeSection(
      LeakModel::kExample,
      std::clamp(left - view->sizeHintForColumn(LeakModel::kSite), least, example));
  FitNames(table_, LeakModel::kSite);
}

void LeakView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  layout()->activate();
  FitTable();
}

void LeakView::Follow() {
  const QModelIndex index = model_->FindSite(selection_->site());
  if (!index.isValid() || following_) return;
  following_ = true;
  table_->setCurrentIndex(index);
  table_->scrollTo(index);
  following_ = false;
}

QString LeakView::VerdictText() const { return verdict_->text() + hidden_->text(); }

void LeakView::SuppressCurrent() {
  const LeakRow* row = model_->leak(table_->currentIndex());
  if (row == nullptr) return;
  suppressions_.Hide(*row);
  AskHidden();
}

QString LeakView::CurrentAsSuppression() const {
  const LeakRow* row = model_->leak(table_->currentIndex());
  return row == nullptr ? QString() : AsSuppression(*row);
}

void LeakView::UndoSuppression() {
  suppressions_.Undo();
  AskHidden();
}

QString LeakView::ApplyFile(const QString& path) {
  const auto read = analysis::Suppressions::Read(path.toStdString());
  if (!read.ok()) return ToQString(analysis::StatusText(read.status())).simplified();
  suppressions_.Apply(std::make_shared<const analysis::Suppressions>(*read),
                      QFileInfo(path).fileName());
  AskHidden();
  return {};
}

void LeakView::ChooseFile() {
  const QString path = QFileDialog::getOpenFileName(
      this, tr("Open suppressions"), QFileInfo(document_->path()).absolutePath(),
      tr("Suppressions (*.supp *.txt);;All files (*)"));
  if (path.isEmpty()) return;
  const QString problem = ApplyFile(path);
  if (problem.isEmpty()) return;
  auto* box =
      new QMessageBox(QMessageBox::Warning, tr("Suppressions"), problem, QMessageBox::Ok, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setTextFormat(Qt::PlainText);
  box->open();
}

bool LeakView::WriteCsv(QTextStream* out) const {
  *out << "tier,score,function,file,line,layer,device,bytes,blocks,bytes_per_step,first_step,"
          "steps_to_oom,example,why,disproof\n";
  for (int tier = 0; tier < model_->rowCount(); ++tier) {
    const QModelIndex branch = model_->index(tier, 0);
    for (int i = 0; i < model_->rowCount(branch); ++i) {
      const LeakRow& row = *model_->leak(model_->index(i, 0, branch));
      const analysis::Leak& leak = row.leak;
      *out << (row.rising ? QStringLiteral("rising") : ToQString(analysis::LeakTierName(leak.tier)))
           << ',' << CsvNumber(leak.score) << ',' << CsvField(ToQString(row.site.function)) << ','
           << CsvField(ToQString(row.site.file)) << ',' << row.site.line << ','
           << ToQString(analysis::LayerName(leak.layer)) << ',' << leak.device << ',' << leak.bytes
           << ',' << leak.blocks << ',' << CsvNumber(leak.bytes_per_step) << ',' << leak.first_step
           << ',' << leak.steps_to_oom << ',' << CsvField(row.example) << ','
           << CsvField(ToQString(leak.why)) << ',' << CsvField(ToQString(leak.disproof)) << '\n';
    }
  }
  return true;
}

}  // namespace memprof::viewer
