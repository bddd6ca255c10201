// The menus of rows and columns of the table of tensors.
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QTableView>

#include "viewer/geometry/units.h"
#include "viewer/views/tensors_view.h"

namespace memprof::viewer {
namespace {

QString Term(const char* field, const std::string& value) {
  return QString::fromUtf8(field) + QLatin1Char('=') + ToQString(analysis::QuoteForQuery(value));
}

}  // namespace

void TensorsView::ShowMenu(const QPoint& at) {
  const QModelIndex index = table_->indexAt(at);
  if (!index.isValid()) return;
  QMenu menu(this);
  menu.addActions(table_->actions());
  menu.addSeparator();
  const analysis::AllocationId id = model_->allocation(index.row());
  const analysis::AllocationRecord& record = model_->record(index.row());
  const analysis::TensorInfo* tensor = tensors_->session().tensor(tensors_->TensorOf(id));
  const auto only = [&](const QString& words, auto change) {
    menu.addAction(words, this, [this, change] {
      analysis::AllocationFilter filter = selection_->filter();
      change(&filter);
      selection_->SetFilter(filter);
    });
  };
  if (const auto& categories = model_->contents().categories; categories != nullptr) {
    const analysis::Category category = categories->Of(id).category;
    only(tr("In all views only %1").arg(ToQString(analysis::CategoryName(category))),
         [category](analysis::AllocationFilter* filter) { filter->category = category; });
  }
  if (record.stack.valid())
    only(tr("In all views only this call site"),
         [stack = record.stack](analysis::AllocationFilter* filter) { filter->site = stack; });
  if (tensor != nullptr) {
    const auto here = [&](const QString& words, const QString& term) {
      menu.addAction(words, this, [this, term] { AddTerm(term); });
    };
    if (!tensor->dtype.empty())
      here(tr("Here only %1").arg(ToQString(tensor->dtype)), Term("dtype", tensor->dtype));
    if (!tensor->shape.empty())
      here(tr("Here only this shape"), Term("shape", analysis::ShapeText(*tensor)));
    if (!tensor->name.empty()) here(tr("Here only this name"), Term("name", tensor->name));
  }
  menu.addSeparator();
  const analysis::EventTable& events = tensors_->session().events();
  const analysis::TimeNs birth = events.time(record.birth.value);
  menu.addAction(tr("Go to its birth"), this, [this, birth] { selection_->SetInstant(birth); });
  if (record.death.valid()) {
    const analysis::TimeNs death = events.time(record.death.value);
    menu.addAction(tr("Go to its end"), this, [this, death] { selection_->SetInstant(death); });
    menu.addAction(tr("Zoom to its lifetime"), this, [this, birth, death] {
      selection_->SetWindow({birth, death});
    });
  }
  menu.exec(table_->viewport()->mapToGlobal(at));
}

void TensorsView::ShowHeaderMenu(const QPoint& at) {
  QHeaderView* header = table_->horizontalHeader();
  const int column = header->logicalIndexAt(at);
  QMenu menu(this);
  if (column >= 0) {
    const analysis::TensorField field = TensorModel::FieldOf(column);
    const QString name = ToQString(analysis::TensorFieldName(field));
    menu.addAction(tr("Filter by %1").arg(name), this, [this, name, field] {
      const bool text = analysis::IsTextField(field);
      const QString before = query_->text().trimmed();
      query_->setText((before.isEmpty() ? QString() : before + QLatin1Char(' ')) + name +
                      QLatin1Char(text ? ':' : '>'));
      query_->setFocus(Qt::OtherFocusReason);
    });
    menu.addSeparator();
  }
  FillColumnMenu(&menu);
  menu.exec(header->mapToGlobal(at));
}

void TensorsView::FillColumnMenu(QMenu* menu) {
  for (int i = 0; i < TensorModel::kColumnCount; ++i) {
    QAction* shown =
        menu->addAction(model_->headerData(i, Qt::Horizontal, Qt::DisplayRole).toString());
    shown->setCheckable(true);
    shown->setChecked(!table_->isColumnHidden(i));
    connect(shown, &QAction::toggled, this, [this, i](bool show) {
      chosen_[static_cast<std::size_t>(i)] = show;
      FitColumns();
    });
  }
}

}  // namespace memprof::viewer
