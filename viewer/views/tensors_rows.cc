// The rows of the table of tensors: found in jobs, shown, and selected together with other views.
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <algorithm>

#include "analysis/base/status_text.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/views/tensors_view.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::RowScope;

// Up to this number of rows is searched at once; more rows are searched in a job.
constexpr int kFewRows = 50'000;

}  // namespace

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
    error_->setText(ToQString(analysis::StatusText(parsed.status())));
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
        if (needed || rows_query_.sort == analysis::TensorField::kSite) Invalidate();
      });
}

// False if a growing log was read again while jobs still run: their ids are those of the old
// session.
bool TensorsView::IsCurrent() const {
  return tensors_ != nullptr && &tensors_->session() == document_->session().get();
}

void TensorsView::AskForRows() {
  if (!IsCurrent()) return;
  const QHeaderView* header = table_->horizontalHeader();
  rows_query_.kind = Kind();
  rows_query_.scope = static_cast<RowScope>(scope_->currentIndex());
  rows_query_.instant = selection_->instant();
  rows_query_.window = selection_->window();
  rows_query_.query = parsed_;
  rows_query_.sort = TensorModel::FieldOf(std::max(0, header->sortIndicatorSection()));
  rows_query_.descending = header->sortIndicatorOrder() == Qt::DescendingOrder;
  rows_job_.Start(
      [table = tensors_, categories = document_->categories(), sites = sites_,
       passing = document_->passing(), query = rows_query_](std::stop_token stop) {
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

}  // namespace memprof::viewer
