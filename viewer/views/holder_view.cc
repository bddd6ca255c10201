// Who holds the selected memory, as a tree.
#include "viewer/views/holder_view.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QLabel>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/add_action.h"
#include "viewer/views/frame_actions.h"
#include "viewer/views/name_delegate.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

constexpr int kSmall = 40;  // rows that are shown at once
constexpr int kLeastRows = 4;

// The path of a file of the program that holders name without its folder; as it is if the stacks
// have none or several of the name.
std::string WholePath(const analysis::Session& session, const std::string& name) {
  std::set<std::string_view> found;
  for (std::uint32_t i = 0; i < session.frame_count(); ++i) {
    const std::string_view file = session.string(session.frame(analysis::FrameId(i)).file);
    if (file.substr(file.rfind('/') + 1) == name) found.insert(file);
  }
  return found.size() == 1 ? std::string(*found.begin()) : name;
}

}  // namespace

HolderView::HolderView(Document* document, Height height, QWidget* parent)
    : QWidget(parent), document_(document), height_(height) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  line_ = new QLabel(this);
  line_->setTextFormat(Qt::PlainText);
  line_->setWordWrap(true);
  line_->setForegroundRole(QPalette::PlaceholderText);
  model_ = new HolderModel(this);
  tree_ = new QTreeView(this);
  tree_->setModel(model_);
  tree_->setAccessibleName(tr("Held by"));
  tree_->setUniformRowHeights(true);
  tree_->setAlternatingRowColors(true);
  tree_->setFrameShape(QFrame::NoFrame);
  tree_->setExpandsOnDoubleClick(false);
  tree_->setIndentation(fontMetrics().averageCharWidth() * 2);
  tree_->setItemDelegate(new NameDelegate(tree_));
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  tree_->header()->setSectionResizeMode(HolderModel::kObject, QHeaderView::Stretch);
  tree_->setContextMenuPolicy(Qt::ActionsContextMenu);
  open_ = AddAction(tree_, tr("&Open in editor"));
  connect(open_, &QAction::triggered, this, [this] { Open(tree_->currentIndex()); });
  copy_ = AddAction(tree_, tr("&Copy holder"), QKeySequence::Copy, this, [this] { Copy(); });
  copy_->setShortcutContext(Qt::WidgetShortcut);
  connect(tree_, &QTreeView::activated, this, [this](const QModelIndex& index) {
    if (model_->Place(index)) return Open(index);
    tree_->setExpanded(index.siblingAtColumn(0), !tree_->isExpanded(index.siblingAtColumn(0)));
  });
  connect(
      tree_->selectionModel(), &QItemSelectionModel::currentChanged, this,
      [this](const QModelIndex& index) { open_->setEnabled(model_->Place(index).has_value()); });
  connect(tree_, &QTreeView::expanded, this, &HolderView::Fit);
  connect(tree_, &QTreeView::collapsed, this, &HolderView::Fit);
  column->addWidget(line_);
  column->addWidget(tree_, 1);
  Clear();
}

void HolderView::Clear() { Say({}); }

void HolderView::Say(const QString& line) {
  model_->SetTree(nullptr, {});
  line_->setText(line);
  line_->setVisible(!line.isEmpty());
  tree_->setVisible(false);
  if (height_ == Height::kWhole) return;  // the tabs show and hide it
  setMaximumHeight(2 * fontMetrics().lineSpacing());
  setVisible(!line.isEmpty());
}

QString HolderView::Line() const { return line_->text(); }

void HolderView::ShowBlock(analysis::AllocationId id, const QString& name) {
  const auto& holders = document_->holders();
  if (holders == nullptr || !id.valid() || id.value >= holders->session().records().size())
    return Clear();
  const analysis::AllocationId block = HeldBlock(holders->session(), id);
  auto tree = std::make_shared<const analysis::HolderTree>(TreeOf(*holders, {&block, 1}));
  if (tree->empty()) return Say(WhyNoHolder(*holders, block));
  Show(std::move(tree), {name, holders->session().record(block).bytes, 1});
}

void HolderView::ShowBlocks(std::shared_ptr<const analysis::HolderTree> tree, HeldMemory memory) {
  if (!tree->empty()) return Show(std::move(tree), std::move(memory));
  const auto& holders = document_->holders();
  Say(holders != nullptr && holders->any() ? tr("Held by: no look found what holds it")
                                           : QString());
}

void HolderView::Show(std::shared_ptr<const analysis::HolderTree> tree, HeldMemory memory) {
  model_->SetTree(std::move(tree), std::move(memory));
  for (const int column : {HolderModel::kBytes, HolderModel::kBlocks})
    tree_->setColumnHidden(column, !model_->differs());
  open_->setEnabled(false);
  line_->clear();
  line_->setVisible(false);
  tree_->setVisible(true);
  if (height_ == Height::kFitted) setVisible(true);
  Expand();
  Fit();
}

// Of a large tree only the way through which most is held.
void HolderView::Expand() {
  if (model_->size() <= kSmall) return tree_->expandAll();
  for (QModelIndex at = model_->index(0, 0); at.isValid(); at = model_->index(0, 0, at))
    tree_->expand(at);
}

void HolderView::Fit() {
  if (height_ == Height::kWhole || model_->size() == 0) return;
  int rows = 0;
  for (QModelIndex at = model_->index(0, 0); at.isValid() && rows < kSmall;
       at = tree_->indexBelow(at))
    ++rows;
  const int row = tree_->sizeHintForRow(0), header = tree_->header()->sizeHint().height();
  tree_->setMinimumHeight(header + std::min(rows, kLeastRows) * row);
  setMaximumHeight(header + rows * row);
}

void HolderView::Open(const QModelIndex& index) {
  auto place = model_->Place(index);
  if (!place || document_->session() == nullptr) return;
  place->file = WholePath(*document_->session(), place->file);
  OpenInEditor(this, *document_, *place);
}

void HolderView::Copy() {
  const QString text = model_->Paths(tree_->currentIndex());
  if (!text.isEmpty()) QGuiApplication::clipboard()->setText(text);
}

}  // namespace memprof::viewer
