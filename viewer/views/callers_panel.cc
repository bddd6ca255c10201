// A function with its callers and callees.
#include "viewer/views/callers_panel.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

CallersPanel::CallersPanel(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  functions_model_ = new FunctionModel(tr("Function"), this);
  callers_model_ = new FunctionModel(tr("Called by"), this);
  callees_model_ = new FunctionModel(tr("Calls"), this);
  functions_ = MakeTable(functions_model_, tr("Functions"));
  callers_ = MakeTable(callers_model_, tr("Callers"));
  callees_ = MakeTable(callees_model_, tr("Callees"));
  title_ = new QLabel(this);
  title_->setTextFormat(Qt::PlainText);
  title_->setFont(StrongFont(title_->font()));
  title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* right = new QWidget(this);
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(kSpace, 0, 0, 0);
  column->setSpacing(kSpace);
  column->addWidget(title_);
  auto* neighbours = new QSplitter(Qt::Vertical, right);
  neighbours->setChildrenCollapsible(false);
  neighbours->addWidget(callers_);
  neighbours->addWidget(callees_);
  column->addWidget(neighbours, 1);
  auto* splitter = new QSplitter(Qt::Horizontal, this);
  splitter->setChildrenCollapsible(false);
  splitter->addWidget(functions_);
  splitter->addWidget(right);
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 1);
  splitter->setSizes({500, 500});
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(splitter);
  for (CallTable* table : {callers_, callees_}) {
    // Enter and double clicks choose the function, to go to its callers or callees; the menu opens
    // the editor.
    table->SetOpensEditor(false);
    connect(table, &CallTable::RowChosen, this, [this, table](const QModelIndex& index) {
      const auto* model = static_cast<const FunctionModel*>(table->model());
      Choose(model->row(index.row()).function, true);
    });
  }
  connect(selection, &Selection::SelectionChanged, this, &CallersPanel::Follow);
  connect(functions_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &CallersPanel::ChooseRow);
}

CallTable* CallersPanel::MakeTable(FunctionModel* model, const QString& name) {
  auto* table = new CallTable(document_, selection_, this);
  table->setAccessibleName(name);
  table->setRootIsDecorated(false);
  table->setMinimumWidth(200);
  table->SetUp(model, FunctionModel::kShareRole, FunctionModel::kPythonRole,
               [this, model](const QModelIndex& index) {
                 FrameTarget target;
                 target.frame = model->frame(index.row());
                 target.stack =
                     stacks_->CostliestThrough(model->row(index.row()).function, by_count_);
                 return target;
               });
  // Half a view has no space for places: they are in the tooltips.
  table->setColumnHidden(FunctionModel::kPlace, true);
  return table;
}

void CallersPanel::SetStacks(std::shared_ptr<const analysis::CallStacks> stacks,
                             std::vector<analysis::FunctionCost> functions,
                             std::optional<std::uint32_t> first, bool by_count) {
  analysis::SourceFrame before;
  if (chosen_.has_value() && stacks_ != nullptr) before = stacks_->functions()[*chosen_];
  filling_ = true;
  chosen_.reset();
  stacks_ = std::move(stacks);
  by_count_ = by_count;
  callers_model_->SetRows(nullptr, {}, by_count);
  callees_model_->SetRows(nullptr, {}, by_count);
  functions_model_->SetRows(stacks_, std::move(functions), by_count);
  filling_ = false;
  title_->clear();
  if (stacks_ == nullptr || functions_model_->rowCount() == 0) return;
  for (CallTable* table : {functions_, callers_, callees_}) {
    // Half a view has space for two figures: those of the chosen measure.
    table->setColumnHidden(FunctionModel::kBlocks, !by_count);
    table->setColumnHidden(FunctionModel::kSelf, by_count);
    table->SortBy(by_count ? FunctionModel::kBlocks : FunctionModel::kInclusive);
  }
  if (const auto kept = stacks_->FindFunction(before); kept.has_value())
    return Choose(*kept, false);
  if (first.has_value()) return Choose(*first, false);
  // Begins with the function that allocated most.
  int best = 0;
  for (int row = 1; row < functions_model_->rowCount(); ++row) {
    if (functions_model_->row(row).self.value(by_count_) >
        functions_model_->row(best).self.value(by_count_))
      best = row;
  }
  Choose(functions_model_->row(best).function, false);
}

void CallersPanel::SetSearch(const QString& text) {
  filling_ = true;
  functions_model_->SetSearch(text);
  filling_ = false;
  if (functions_model_->rowCount() == 0) return;
  const int row = chosen_.has_value() ? functions_model_->FindFunction(*chosen_) : -1;
  functions_->setCurrentIndex(functions_model_->index(std::max(0, row), 0));
}

void CallersPanel::ChooseRow(const QModelIndex& index) {
  if (filling_ || !index.isValid()) return;
  Choose(functions_model_->row(index.row()).function, true);
}

void CallersPanel::Follow() {
  const analysis::StackId site = selection_->site();
  if (filling_ || !isVisible() || stacks_ == nullptr || !site.valid()) return;
  follow_job_.Start(
      [symbols = document_->symbols(), stacks = stacks_, site](std::stop_token) {
        return std::pair(stacks, stacks->FindFunction(symbols->Site(site)));
      },
      [this](std::pair<std::shared_ptr<const analysis::CallStacks>, std::optional<std::uint32_t>>
                 found) {
        if (found.first == stacks_ && found.second.has_value()) Choose(*found.second, false);
      });
}

void CallersPanel::Choose(std::uint32_t function, bool select) {
  if (chosen_ == function) return;
  chosen_ = function;
  title_->setText(Title());
  const int row = functions_model_->FindFunction(function);
  filling_ = true;
  if (row >= 0) {
    functions_->setCurrentIndex(functions_model_->index(row, 0));
    functions_->scrollTo(functions_->currentIndex());
  } else {
    functions_->setCurrentIndex({});
  }
  filling_ = false;
  job_.Start(
      [stacks = stacks_, function, by_count = by_count_](std::stop_token) {
        return Neighbours{stacks->Callers(function, by_count), stacks->Callees(function, by_count),
                          stacks->CostliestThrough(function, by_count)};
      },
      [this, select](Neighbours neighbours) { Show(std::move(neighbours), select); });
}

void CallersPanel::Show(Neighbours neighbours, bool select) {
  callers_model_->SetRows(stacks_, std::move(neighbours.callers), by_count_);
  callees_model_->SetRows(stacks_, std::move(neighbours.callees), by_count_);
  if (!select) return;
  filling_ = true;  // it is shown already
  selection_->SelectSite(neighbours.stack);
  filling_ = false;
}

QString CallersPanel::Title() const {
  if (!chosen_.has_value() || stacks_ == nullptr) return {};
  return ShortSite(stacks_->functions()[*chosen_]);
}

void CallersPanel::WriteCsv(QTextStream* out) const {
  WriteFrameCsvHeader(out);
  const auto rows = [out](const FunctionModel& model, const QString& relation) {
    for (int row = 0; row < model.rowCount(); ++row) {
      const analysis::FunctionCost& cost = model.row(row);
      WriteFrameCsv(out, relation, 0, model.frame(row), cost.inclusive.bytes, cost.self.bytes,
                    cost.inclusive.blocks);
    }
  };
  rows(*callers_model_, QStringLiteral("caller"));
  rows(*callees_model_, QStringLiteral("callee"));
  rows(*functions_model_, QStringLiteral("function"));
}

}  // namespace memprof::viewer
