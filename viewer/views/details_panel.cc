// Beside the views: the chosen instant, and the selection with its call stack.
#include "viewer/views/details_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QTabWidget>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "analysis/store/private_pools.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/models/map_picture.h"
#include "viewer/models/site_ranking.h"
#include "viewer/views/add_action.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/name_delegate.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

constexpr std::size_t kMaxRows = 200;
// An allocation with more children is a segment and no tensor, and a check of each child takes
// long.
constexpr std::size_t kFewChildren = 1000;

bool HoldsFewTensors(const analysis::Session& session, analysis::AllocationId id) {
  return session.Children(id).size() <= kFewChildren;
}

QString TensorOf(const analysis::Session& session, analysis::AllocationId id) {
  return HoldsFewTensors(session, id) ? TensorLabel(session, id) : QString();
}

void SetUpList(QTreeView* view, QAbstractItemModel* model) {
  view->setModel(model);
  view->setRootIsDecorated(false);
  view->setUniformRowHeights(true);
  view->setAlternatingRowColors(true);
  view->setFrameShape(QFrame::NoFrame);
  view->setItemDelegateForColumn(RankedModel::kName, new NameDelegate(view));
  view->header()->setStretchLastSection(false);
  view->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  view->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
}

}  // namespace

DetailsPanel::DetailsPanel(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kSpace, kSpace, kSpace, kSpace);
  column->setSpacing(kSpace);
  instant_ = new RichLabel(this);
  rankings_ = new QTabWidget(this);
  rankings_->setDocumentMode(true);
  sites_ = new RankedModel(tr("Allocated at"), this);
  tensors_ = new RankedModel(tr("Name"), this);
  AddRanking(rankings_, sites_, tr("Call sites"));
  AddRanking(rankings_, tensors_, tr("Tensors"));
  selected_ = new QLabel(this);
  selected_->setTextFormat(Qt::RichText);
  selected_->setWordWrap(true);
  selected_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  selected_->setContextMenuPolicy(Qt::ActionsContextMenu);
  QAction* copy = AddAction(selected_, tr("Copy all of it"));
  connect(copy, &QAction::triggered, this, [this] {
    const analysis::AllocationId id = selection_->allocation();
    if (document_->session() == nullptr || !id.valid()) return;
    QString text = Title(id) + QLatin1Char('\n');
    for (const auto& [name, value] : Facts(id))
      text += name + QLatin1Char('\t') + value + QLatin1Char('\n');
    QApplication::clipboard()->setText(text + stack_->stack().Text());
  });
  stack_ = new StackView(document_, selection_, this);
  top_ = new QHBoxLayout();
  top_->addWidget(instant_, 1);
  column->addLayout(top_);
  column->addWidget(rankings_, 1);
  column->addWidget(selected_);
  source_ = new SourcePane(document_, selection_, SourcePane::Columns::kNarrow, this);
  connect(stack_, &StackView::FrameChosen, this, [this](const analysis::SourceFrame& frame) {
    if (!frame.file.empty()) source_->ShowFile(frame.file, frame.line);
    source_->setVisible(!source_->file().empty());
  });
  holders_ = new HolderView(document_, HolderView::Height::kFitted, this);
  below_ = new QVBoxLayout();
  below_->addWidget(stack_, 1);
  below_->addWidget(source_, 1);
  below_->addWidget(holders_, 1);
  below_->addStretch(0);
  column->addLayout(below_, 1);
  connect(document_, &Document::StateChanged, this, [this] {
    AskInstant();
    AskSelection();
  });
  connect(document_, &Document::TimelinesReady, this, &DetailsPanel::AskInstant);
  connect(document_, &Document::PassingChanged, this, &DetailsPanel::AskInstant);
  connect(document_, &Document::ReportReady, this, &DetailsPanel::ShowHolders);
  connect(document_, &Document::CategoriesReady, this, &DetailsPanel::ShowSelection);
  connect(AccessIndex::Of(document_), &AccessIndex::Ready, this, &DetailsPanel::ShowSelection);
  connect(selection_, &Selection::InstantChanged, this, &DetailsPanel::AskInstant);
  connect(selection_, &Selection::DeviceChanged, this, &DetailsPanel::AskInstant);
  connect(selection_, &Selection::SelectionChanged, this, &DetailsPanel::AskSelection);
  AskSelection();
}

QTreeView* DetailsPanel::AddRanking(QTabWidget* tabs, RankedModel* model, const QString& title) {
  auto* view = new QTreeView(tabs);
  SetUpList(view, model);
  view->setItemDelegateForColumn(RankedModel::kBytes,
                                 new BarDelegate(RankedModel::kShareRole, view));
  connect(view->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this, model](const QModelIndex& index) {
            if (!index.isValid()) return;
            const RankedRow& row = model->row(index.row());
            selection_->SelectAllocation(row.allocation, row.site);
          });
  tabs->addTab(view, title);
  return view;
}

DetailsPanel::InstantData DetailsPanel::MakeInstant(const analysis::Session& session,
                                                    analysis::Symbols& symbols,
                                                    const analysis::SiteQuery& query) {
  InstantData found;
  const analysis::Peak peak = analysis::DescribeInstant(session, query.device, query.at);
  found.sites = RankSites(analysis::FindSites(session, query), symbols);
  if (found.sites.size() > kMaxRows) found.sites.resize(kMaxRows);
  found.blocks = peak.tensors.empty();
  for (const analysis::AllocationId id : found.blocks ? peak.blocks : peak.tensors) {
    if (found.tensors.size() >= kMaxRows) break;
    if (!Passes(query.passing.get(), id)) continue;
    const analysis::Allocation& allocation = session.allocation(id);
    QString name = TensorLabel(session, id);
    if (name.isEmpty()) {
      name = allocation.stack.valid() ? SiteName(symbols, allocation.stack)
                                      : FormatAddress(allocation.address);
    }
    found.tensors.push_back({name, name, allocation.bytes, allocation.stack, id});
  }
  return found;
}

void DetailsPanel::AskInstant() {
  if (document_->session() == nullptr || document_->timelines() == nullptr) {
    instant_job_.Cancel();
    ShowInstant({});
    return;
  }
  analysis::SiteQuery query;
  query.device = selection_->device();
  query.at = selection_->instant();
  query.layers = SiteLayers(document_->bands(query.device));
  query.passing = document_->passing();
  instant_job_.Start([session = document_->session(), symbols = document_->symbols(),
                      query](std::stop_token) { return MakeInstant(*session, *symbols, query); },
                     [this](InstantData found) { ShowInstant(std::move(found)); });
}

void DetailsPanel::ShowInstant(InstantData found) {
  const Theme theme = Theme::From(palette());
  QString when;
  const TimelineBands* bands = document_->bands(selection_->device());
  if (document_->session() != nullptr && bands != nullptr) {
    const analysis::TimeNs time = selection_->instant();
    when = FormatDuration(time - std::min(time, document_->bounds().begin));
    const std::int64_t step = document_->session()->StepAt(time);
    if (step >= 0) when = tr("step %1  ·  %2").arg(step).arg(when);
    when = QStringLiteral(
               "<span style='font-weight:600'>%1</span> "
               "<span style='color:%2'>at %3</span>")
               .arg(FormatBytes(bands->in_use.At(time)), theme.muted.name(), when);
  }
  instant_->setText(when);
  rankings_->setTabText(1, found.blocks && !found.tensors.empty() ? tr("Blocks") : tr("Tensors"));
  sites_->SetRows(std::move(found.sites));
  tensors_->SetRows(std::move(found.tensors));
}

QString DetailsPanel::SelectionText() const { return selected_->text(); }

void DetailsPanel::SetCorner(QWidget* widget) { top_->addWidget(widget, 0, Qt::AlignTop); }

QString DetailsPanel::Title(analysis::AllocationId id) const {
  const analysis::Session& session = *document_->session();
  QString title;
  if (HoldsFewTensors(session, id)) title = TensorAt(session, id, selection_->instant());
  if (title.isEmpty()) title = TensorOf(session, id);
  return title.isEmpty() ? ToQString(analysis::LayerName(session.record(id).layer)) : title;
}

QList<std::pair<QString, QString>> DetailsPanel::Facts(analysis::AllocationId id) const {
  const analysis::Session& session = *document_->session();
  const analysis::Allocation allocation = session.allocation(id);
  QList<std::pair<QString, QString>> facts;
  const auto add = [&facts](const QString& name, const QString& value) {
    facts.append({name, value});
  };
  const auto since_start = [this](analysis::TimeNs time) {
    return FormatDuration(time - std::min(time, document_->bounds().begin));
  };
  QString size = FormatBytes(allocation.bytes);
  if (allocation.requested > 0 && allocation.requested != allocation.bytes)
    size += tr(", %1 bytes requested").arg(FormatCount(allocation.requested));
  add(tr("Size"), size);
  QString layer = ToQString(analysis::LayerName(allocation.layer));
  layer += allocation.device >= 0 ? tr(" on GPU %1").arg(allocation.device) : tr(" on the host");
  add(tr("Kind"), layer);
  add(tr("Address"), FormatAddress(allocation.address));
  if (allocation.stream != 0) add(tr("Stream"), FormatAddress(allocation.stream));
  if (const std::uint64_t pool = analysis::PrivatePoolOf(session, id); pool != 0)
    add(tr("Pool"), ToQString(analysis::PrivatePoolName(pool)));
  const QString tensor = TensorOf(session, id);
  if (!tensor.isEmpty() && tensor != Title(id)) add(tr("Tensor"), tensor);
  if (document_->categories() != nullptr) {
    const analysis::CategoryVerdict& verdict = document_->categories()->Of(id);
    QString category = ToQString(analysis::CategoryName(verdict.category));
    if (verdict.reason != analysis::CategoryReason::kNothing)
      category += tr(", by %1, %2 sure")
                      .arg(ToQString(analysis::CategoryReasonText(verdict.reason)),
                           FormatPercent(static_cast<double>(verdict.confidence)));
    add(tr("Category"), category);
  }
  const QString born = allocation.birth_step >= 0 ? tr("born in step %1").arg(allocation.birth_step)
                                                  : tr("born before the first step");
  add(tr("Life"), tr("%1, at %2").arg(born, since_start(allocation.birth_time)));
  if (allocation.alive()) {
    add(tr("Freed"), tr("never freed"));
  } else {
    const QString when = since_start(allocation.death_time);
    add(tr("Freed"),
        (allocation.death_step >= 0 ? tr("in step %1, at %2").arg(allocation.death_step).arg(when)
                                    : tr("at %1").arg(when)) +
            tr(", lived %1").arg(FormatDuration(allocation.death_time - allocation.birth_time)));
  }
  add(tr("Last use"), DescribeLastUse(session, AccessIndex::Of(document_)->Ask().get(), id));
  // The allocations that contain it, the nearest first: block, segment, driver allocation.
  QStringList chain;
  for (analysis::AllocationId at = allocation.parent; at.valid() && chain.size() < 4;
       at = session.record(at).parent) {
    const analysis::AllocationRecord& outer = session.record(at);
    chain << QStringLiteral("%1 (%2)").arg(ToQString(analysis::LayerName(outer.layer)),
                                           FormatBytes(outer.bytes));
  }
  if (!chain.isEmpty()) add(tr("Lies"), tr("in %1").arg(chain.join(tr(" in "))));
  return facts;
}

QString DetailsPanel::DescribeAllocation(analysis::AllocationId id) const {
  const Theme theme = Theme::From(palette());
  QString text = QStringLiteral("<b>%1</b><table cellspacing='0' cellpadding='1'>")
                     .arg(Title(id).toHtmlEscaped());
  for (const auto& [name, value] : Facts(id))
    text += QStringLiteral(
                "<tr><td style='color:%1; padding-right:6px; "
                "white-space:nowrap'>%2</td><td>%3</td></tr>")
                .arg(theme.muted.name(), name.toHtmlEscaped(), value.toHtmlEscaped());
  return text + QStringLiteral("</table>");
}

void DetailsPanel::ShowSelection() {
  if (document_->session() == nullptr) return;
  const analysis::AllocationId id = selection_->allocation();
  // Right after another log was opened, the selection may still be that of the previous one.
  if (id.valid() && id.value >= document_->session()->records().size()) return;
  if (id.valid())
    selected_->setText(DescribeAllocation(id));
  else if (selection_->site().valid())
    selected_->setText(QStringLiteral("<b>%1</b>").arg(tr("Call site")));
}

void DetailsPanel::ShowHolders() {
  const analysis::AllocationId id = selection_->allocation();
  const bool known = document_->session() != nullptr && id.valid() &&
                     id.value < document_->session()->records().size();
  if (known)
    holders_->ShowBlock(id, Title(id));
  else
    holders_->Clear();
  // Without a selection, the list has all of the height.
  const bool any = id.valid() || selection_->site().valid();
  const int share = !any ? 0 : holders_->model().size() > 0 ? 2 : 1;
  static_cast<QVBoxLayout*>(layout())->setStretchFactor(below_, share);
}

void DetailsPanel::AskSelection() {
  const analysis::StackId site = selection_->site();
  const Theme theme = Theme::From(palette());
  if (document_->session() == nullptr || (!site.valid() && !selection_->allocation().valid())) {
    stack_job_.Cancel();
    stack_->Clear();
    stack_->setVisible(false);
    source_->Clear();
    source_->setVisible(false);
    ShowHolders();
    selected_->setText(QStringLiteral("<span style='color:%1'>%2</span>")
                           .arg(theme.muted.name(),
                                tr("Select a block, a leak or a call site to see its stack.")));
    return;
  }
  stack_->setVisible(true);
  ShowSelection();
  ShowHolders();
  stack_job_.Start(
      [symbols = document_->symbols(), site](std::stop_token) {
        StackData found;
        if (site.valid()) found = {symbols->ResolveStack(site), symbols->Site(site)};
        return found;
      },
      [this, site](StackData found) {
        source_->ShowStack(found.frames, found.site);
        source_->setVisible(!source_->file().empty());
        stack_->SetFrames(std::move(found.frames), found.site, site);
      });
}

void DetailsPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && document_->session() != nullptr) {
    AskInstant();
    AskSelection();
  }
}

}  // namespace memprof::viewer
