// Beside the views: the chosen instant, and the selection with its call stack.
#include "viewer/views/details_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QTabWidget>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/models/map_picture.h"
#include "viewer/models/site_ranking.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

constexpr std::size_t kMaxRows = 200;

void SetUpList(QTreeView* view, QAbstractItemModel* model) {
  view->setModel(model);
  view->setRootIsDecorated(false);
  view->setUniformRowHeights(true);
  view->setAlternatingRowColors(true);
  view->setFrameShape(QFrame::NoFrame);
  view->setTextElideMode(Qt::ElideRight);  // what begins with the function, or the tensor, says it
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
  instant_ = new QLabel(this);
  instant_->setTextFormat(Qt::RichText);
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
  stack_ = new StackModel(this);
  stack_view_ = new QTreeView(this);
  SetUpList(stack_view_, stack_);
  stack_view_->setContextMenuPolicy(Qt::ActionsContextMenu);
  QAction* copy = stack_view_->addAction(tr("Copy stack"));
  connect(copy, &QAction::triggered, this,
          [this] { QApplication::clipboard()->setText(stack_->Text()); });
  column->addWidget(instant_);
  column->addWidget(rankings_, 1);
  column->addWidget(selected_);
  column->addWidget(stack_view_, 1);
  connect(document_, &Document::StateChanged, this, [this] {
    AskInstant();
    AskSelection();
  });
  connect(document_, &Document::TimelinesReady, this, &DetailsPanel::AskInstant);
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
    const analysis::Allocation& allocation = session.allocation(id);
    QString name = TensorLabel(session, id);
    if (name.isEmpty()) {
      name = allocation.stack.valid() ? ShortSite(symbols.Site(allocation.stack))
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

QString DetailsPanel::DescribeAllocation(analysis::AllocationId id) const {
  const analysis::Session& session = *document_->session();
  const analysis::Allocation& allocation = session.allocation(id);
  QString title = TensorAt(session, id, selection_->instant());
  if (title.isEmpty()) title = TensorLabel(session, id);
  if (title.isEmpty()) title = ToQString(analysis::LayerName(allocation.layer));
  QStringList facts;
  facts << tr("%1 at %2").arg(FormatBytes(allocation.bytes), FormatAddress(allocation.address));
  QString life = allocation.birth_step >= 0 ? tr("born in step %1").arg(allocation.birth_step)
                                            : tr("born before the first step");
  if (allocation.alive()) {
    life += tr(", never freed");
  } else {
    life += tr(", lived %1").arg(FormatDuration(allocation.death_time - allocation.birth_time));
    if (allocation.death_step >= 0) life += tr(", freed in step %1").arg(allocation.death_step);
  }
  facts << life;
  // What it lies in, from the nearest: tensor, block, segment, driver allocation.
  QStringList chain;
  for (analysis::AllocationId at = allocation.parent; at.valid() && chain.size() < 4;
       at = session.allocation(at).parent) {
    const analysis::Allocation& outer = session.allocation(at);
    chain << QStringLiteral("%1 (%2)").arg(ToQString(analysis::LayerName(outer.layer)),
                                           FormatBytes(outer.bytes));
  }
  if (!chain.isEmpty()) facts << tr("in %1").arg(chain.join(tr(" in ")));
  QString text = QStringLiteral("<b>%1</b>").arg(title.toHtmlEscaped());
  for (const QString& fact : facts) text += QStringLiteral("<br>") + fact.toHtmlEscaped();
  return text;
}

void DetailsPanel::AskSelection() {
  const analysis::StackId site = selection_->site();
  const Theme theme = Theme::From(palette());
  if (document_->session() == nullptr || (!site.valid() && !selection_->allocation().valid())) {
    stack_job_.Cancel();
    stack_->Clear();
    stack_view_->setVisible(false);
    selected_->setText(QStringLiteral("<span style='color:%1'>%2</span>")
                           .arg(theme.muted.name(),
                                tr("Select a block, a leak or a call site to see its stack.")));
    return;
  }
  stack_view_->setVisible(true);
  selected_->setText(selection_->allocation().valid()
                         ? DescribeAllocation(selection_->allocation())
                         : QStringLiteral("<b>%1</b>").arg(tr("Call site")));
  stack_job_.Start(
      [symbols = document_->symbols(), site](std::stop_token) {
        StackData found;
        if (site.valid()) found = {symbols->ResolveStack(site), symbols->Site(site)};
        return found;
      },
      [this](StackData found) { stack_->SetFrames(std::move(found.frames), found.site); });
}

}  // namespace memprof::viewer
