// "What if this were gone".
#include "viewer/views/what_if_gone.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QVBoxLayout>

#include "viewer/geometry/units.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/page.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

using analysis::PeakLayer;
using analysis::WithoutBy;

WhatIfGone::WhatIfGone(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  model_ = new WithoutModel(this);
  sorted_ = new QSortFilterProxyModel(this);
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(WithoutModel::kSortRole);
  sorted_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  sorted_->setFilterKeyColumn(WithoutModel::kName);
  QVBoxLayout* column = PageColumn(this);
  BuildHead(column);
  BuildTable();
  column->addWidget(table_, 1);
  const auto again = [this] { Invalidate(); };
  connect(document, &Document::StateChanged, this, again);
  connect(document, &Document::CategoriesReady, this, [this] {
    if (by() == WithoutBy::kCategory) Invalidate();
  });
  connect(document, &Document::PassingChanged, this, again);
  connect(selection, &Selection::DeviceChanged, this, again);
  connect(selection, &Selection::SelectionChanged, this, &WhatIfGone::Follow);
}

void WhatIfGone::BuildHead(QVBoxLayout* column) {
  verdict_ = SentenceLabel(this, QStringLiteral("…"));
  column->addWidget(verdict_);
  auto* row = new QHBoxLayout();
  row->setSpacing(kSpace);
  by_ = new QComboBox(this);
  by_->setAccessibleName(tr("Group by"));
  by_->addItem(tr("Call sites"), static_cast<int>(WithoutBy::kSite));
  by_->addItem(tr("Categories"), static_cast<int>(WithoutBy::kCategory));
  by_->addItem(tr("Layers"), static_cast<int>(WithoutBy::kLayer));
  by_->addItem(tr("Tensors"), static_cast<int>(WithoutBy::kTensor));
  of_ = new QComboBox(this);
  of_->setAccessibleName(tr("Of which peak"));
  of_->addItem(tr("of the framework's blocks"), static_cast<int>(PeakLayer::kBlocks));
  of_->addItem(tr("of driver memory"), static_cast<int>(PeakLayer::kDriver));
  search_ = new QLineEdit(this);
  search_->setPlaceholderText(tr("Search names"));
  search_->setClearButtonEnabled(true);
  search_->setAccessibleName(tr("Search names"));
  cancel_ = new QPushButton(tr("Cancel"), this);
  row->addWidget(new QLabel(tr("Without each of"), this));
  row->addWidget(by_);
  row->addWidget(of_);
  row->addWidget(search_, 1);
  row->addWidget(cancel_);
  column->addLayout(row);
  const auto again = [this] { Invalidate(); };
  connect(by_, &QComboBox::currentIndexChanged, this, again);
  connect(of_, &QComboBox::activated, this, again);
  connect(search_, &QLineEdit::textChanged, sorted_, &QSortFilterProxyModel::setFilterFixedString);
  connect(cancel_, &QPushButton::clicked, this, [this] {
    if (!job_.running()) {
      Invalidate();
      return;
    }
    job_.Cancel();
    cancelled_ = true;
    ShowState();
  });
}

void WhatIfGone::BuildTable() {
  table_ = new QTreeView(this);
  SetUpTable(table_, sorted_, tr("The peak without each group"));
  table_->setItemDelegate(new BarDelegate(WithoutModel::kShareRole, table_));
  QHeaderView* header = table_->header();
  header->setSectionResizeMode(QHeaderView::Interactive);
  header->setSectionResizeMode(WithoutModel::kName, QHeaderView::Stretch);
  for (int section = 1; section < WithoutModel::kColumnCount; ++section)
    header->resizeSection(
        section, fontMetrics().averageCharWidth() * (section == WithoutModel::kSaves ? 22 : 15));
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &WhatIfGone::Chosen);
}

WithoutBy WhatIfGone::by() const { return static_cast<WithoutBy>(by_->currentData().toInt()); }
void WhatIfGone::SetBy(WithoutBy by) { by_->setCurrentIndex(by_->findData(static_cast<int>(by))); }

QString WhatIfGone::Verdict() const { return verdict_->text(); }

bool WhatIfGone::FocusSearch() {
  search_->setFocus(Qt::ShortcutFocusReason);
  return true;
}

void WhatIfGone::Refresh() {
  const auto& session = document_->session();
  cancelled_ = false;
  if (session == nullptr) {
    job_.Cancel();
    model_->SetData(nullptr);
    ShowState();
    return;
  }
  analysis::WithoutOptions options;
  options.device = selection_->device();
  options.by = by();
  const TimelineBands* bands = document_->bands(options.device);
  const bool framework = bands == nullptr || bands->framework;
  const bool driver = static_cast<PeakLayer>(of_->currentData().toInt()) == PeakLayer::kDriver;
  options.of = framework && !driver ? PeakLayer::kBlocks : PeakLayer::kDriver;
  of_->setVisible(framework && options.by != WithoutBy::kLayer && options.by != WithoutBy::kTensor);
  job_.Start(
      [session, symbols = document_->symbols(), categories = document_->categories(),
       passing = document_->passing(), options](std::stop_token stop) mutable {
        options.passing = passing.get();
        options.stop = stop;
        analysis::WithoutRanking ranking =
            analysis::RankWithout(*session, *symbols, categories.get(), options);
        if (options.of == PeakLayer::kBlocks && !ranking.has_blocks && !stop.stop_requested()) {
          options.of = PeakLayer::kDriver;
          ranking = analysis::RankWithout(*session, *symbols, categories.get(), options);
        }
        return DescribeWithout(*session, std::move(ranking), options.by);
      },
      [this](std::shared_ptr<const WithoutData> found) {
        following_ = true;
        model_->SetData(std::move(found));
        following_ = false;
        Follow();
        ShowState();
      });
  ShowState();
}

void WhatIfGone::Follow() {
  if (following_) return;
  following_ = true;
  model_->SetSelected(selection_->site());
  if (model_->first_is_selected()) {
    table_->setCurrentIndex(sorted_->mapFromSource(model_->index(0, 0)));
    table_->scrollTo(table_->currentIndex());
  }
  following_ = false;
}

void WhatIfGone::Chosen(const QModelIndex& index) {
  const QModelIndex source = sorted_->mapToSource(index);
  if (following_ || !source.isValid()) return;
  const analysis::StackId stack = model_->row(source.row()).stack;
  if (!stack.valid()) return;
  // The row stays where it is: it moves to the front only when another view selects it.
  following_ = true;
  selection_->SelectSite(stack);
  following_ = false;
}

void WhatIfGone::ShowState() {
  const bool running = job_.running();
  cancel_->setVisible(running || cancelled_);
  cancel_->setText(running ? tr("Cancel") : tr("Compute again"));
  const auto& shown = model_->ranking();
  if (shown == nullptr) {
    verdict_->setText(cancelled_ ? tr("Cancelled.") : QStringLiteral("…"));
    table_->setVisible(false);
    return;
  }
  table_->setVisible(true);
  const analysis::WithoutRanking& ranking = shown->ranking;
  const QString device = selection_->device() == analysis::kNoDevice
                             ? tr("the host")
                             : tr("device %1").arg(selection_->device());
  if (ranking.peak.bytes == 0) {
    verdict_->setText(
        shown->by == WithoutBy::kTensor || ranking.has_driver || ranking.has_blocks
            ? tr("Nothing of this kind was held on %1 in the whole run.").arg(device)
            : tr("No device memory was held on %1: choose another device above.").arg(device));
    return;
  }
  if (shown->by == WithoutBy::kTensor && ranking.rows.empty()) {
    verdict_->setText(
        tr("The log names no tensors. Name them with memprof_tensor_create(), or record PyTorch "
           "with its hooks."));
    return;
  }
  QString text =
      tr("The peak of %1 on %2 was %3. Each row: what it would have been, in the whole run, if "
         "this had never been allocated.")
          .arg(
              ranking.of == PeakLayer::kBlocks ? tr("the framework's blocks") : tr("driver memory"),
              device, FormatBytes(ranking.peak.bytes));
  if (document_->passing() != nullptr)
    text += tr(" Without all that the filter shows: %1, which saves %2.")
                .arg(FormatBytes(ranking.all.without.bytes), FormatBytes(ranking.all.saves_bytes));
  if (running) text += QStringLiteral(" …");
  if (cancelled_) text += tr(" Cancelled: these figures are of the question before.");
  verdict_->setText(text);
}

bool WhatIfGone::WriteCsv(QTextStream* out) const {
  *out << "without,allocations,at_peak_bytes,new_peak_bytes,saves_bytes,then_at\n";
  for (int row = 0; row < sorted_->rowCount(); ++row) {
    const QModelIndex source = sorted_->mapToSource(sorted_->index(row, 0));
    const analysis::WithoutRow& shown = model_->row(source.row());
    *out << CsvField(source.data().toString()) << ',' << shown.allocations << ',' << shown.at_peak
         << ',' << shown.saving.without.bytes << ',' << shown.saving.saves_bytes << ','
         << CsvField(source.siblingAtColumn(WithoutModel::kWhen).data().toString()) << '\n';
  }
  return true;
}

}  // namespace memprof::viewer
