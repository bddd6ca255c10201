// The call tree as a table.
#include "viewer/views/call_tree_panel.h"

#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

constexpr int kTrunkRows = 64;  // no deeper than this by itself

}  // namespace

CallTreePanel::CallTreePanel(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  model_ = new CallTreeModel(this);
  table_ = new CallTable(document, selection, this);
  table_->setAccessibleName(tr("Call tree"));
  table_->SetUp(model_, CallTreeModel::kShareRole, CallTreeModel::kPythonRole,
                [this](const QModelIndex& index) {
                  return FrameTarget{model_->frame(index), model_->Stack(index)};
                });
  column->addWidget(table_);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &CallTreePanel::Select);
  connect(selection, &Selection::SelectionChanged, this, &CallTreePanel::Follow);
}

void CallTreePanel::SetTree(std::shared_ptr<const analysis::CallTree> tree, bool by_count) {
  const QStringList path = PathTo(table_->currentIndex());
  const bool inwards = tree != nullptr && !tree->bottom_up();
  following_ = true;
  model_->SetTree(std::move(tree), by_count);
  table_->setColumnHidden(CallTreeModel::kSelf, !inwards);
  table_->SortBy(by_count ? CallTreeModel::kBlocks : CallTreeModel::kInclusive);
  OpenTrunk();
  const QModelIndex found = FindPath(path);
  if (found.isValid()) {
    table_->setCurrentIndex(found);
    table_->scrollTo(found);
  }
  following_ = false;
  Follow();
}

void CallTreePanel::OpenTrunk() {
  QModelIndex at;
  for (int depth = 0; depth < kTrunkRows && model_->rowCount(at) > 0; ++depth) {
    const bool one = model_->rowCount(at) == 1;
    at = model_->index(0, 0, at);
    if (one || depth == 0) table_->expand(at);
    if (!one) break;
  }
}

void CallTreePanel::SetSearch(const QString& text) {
  following_ = true;
  model_->SetSearch(text);
  OpenTrunk();
  following_ = false;
  if (!text.isEmpty()) NextMatch();
}

void CallTreePanel::NextMatch() {
  QModelIndex match = model_->NextMatch(table_->currentIndex());
  if (!match.isValid()) match = model_->NextMatch({});  // around
  if (!match.isValid()) return;
  table_->setCurrentIndex(match);
  table_->scrollTo(match);
}

void CallTreePanel::Select(const QModelIndex& index) {
  if (following_ || !index.isValid()) return;
  following_ = true;
  selection_->SelectSite(model_->Stack(index));
  following_ = false;
}

void CallTreePanel::Follow() {
  if (following_ || model_->tree() == nullptr) return;
  // The current row may be a row of the selected site already.
  const QModelIndex current = table_->currentIndex();
  if (current.isValid() && model_->Stack(current) == selection_->site()) return;
  const QModelIndex found = model_->FindStack(selection_->site());
  if (!found.isValid()) return;
  following_ = true;
  table_->setCurrentIndex(found);
  table_->scrollTo(found);
  following_ = false;
}

QStringList CallTreePanel::PathTo(const QModelIndex& index) const {
  QStringList path;
  for (QModelIndex at = index; at.isValid(); at = at.parent())
    path.prepend(ToQString(model_->frame(at).function));
  return path;
}

QModelIndex CallTreePanel::FindPath(const QStringList& path) const {
  QModelIndex found;
  for (const QString& function : path) {
    QModelIndex next;
    for (int row = 0; row < model_->rowCount(found) && !next.isValid(); ++row) {
      const QModelIndex child = model_->index(row, 0, found);
      if (ToQString(model_->frame(child).function) == function) next = child;
    }
    if (!next.isValid()) break;
    found = next;
  }
  return found;
}

void CallTreePanel::WriteCsv(QTextStream* out) const {
  WriteFrameCsvHeader(out);
  const QString relation = model_->tree() != nullptr && model_->tree()->bottom_up()
                               ? QStringLiteral("bottom-up")
                               : QStringLiteral("top-down");
  for (QModelIndex at = model_->index(0, 0); at.isValid(); at = table_->indexBelow(at)) {
    int depth = 0;
    for (QModelIndex above = at.parent(); above.isValid(); above = above.parent()) ++depth;
    const analysis::CallTree::Node& node = *model_->node(at);
    WriteFrameCsv(out, relation, depth, model_->frame(at), node.inclusive.bytes, node.self.bytes,
                  node.inclusive.blocks);
  }
}

}  // namespace memprof::viewer
