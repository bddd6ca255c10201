// Call sites: the query and its job.
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <utility>

#include "viewer/views/call_tree_panel.h"
#include "viewer/views/callers_panel.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
bool RunsPython(const analysis::Session& session) {
  for (std::uint32_t i = 0; i < session.frame_count(); ++i)
    if (session.frame(analysis::FrameId(i)).python) return true;
  return false;
}

analysis::TimeNs FlameView::PeakTime(std::uint32_t layers) const {
  const TimelineBands* bands = document_->bands(selection_->device());
  if (bands == nullptr) return selection_->instant();
  const bool blocks = bands->framework && layers != analysis::kDeviceLayers;
  const StackLine& series = blocks ? bands->in_use : bands->allocated;
  return series.empty() ? selection_->instant() : series.time_of_max();
}

analysis::SiteQuery FlameView::Query() const {
  analysis::SiteQuery query;
  query.device = selection_->device();
  query.layers = layers_->currentData().toUInt();
  query.at = selection_->instant();
  query.window = selection_->window();
  query.passing = document_->passing();
  switch (static_cast<Choice>(choice_->currentIndex())) {
    case Choice::kLiveAtInstant:
      break;
    case Choice::kLiveAtPeak:
      query.at = PeakTime(query.layers);
      break;
    case Choice::kAllocatedInWindow:
      query.metric = analysis::Metric::kAllocatedBytes;
      break;
    case Choice::kCountInWindow:
      query.metric = analysis::Metric::kAllocationCount;
      break;
    case Choice::kLiveAtEnd:
      query.at = analysis::kForever;
      break;
  }
  return query;
}

// For Python, the default leaves out the frames of libraries: several frames of the interpreter are
// between two lines of Python, and about a dozen below main().
void FlameView::ChooseDepth() {
  const std::shared_ptr<const analysis::Session> session = document_->session();
  if (depth_chosen_ || depth_of_.lock() == session) return;
  depth_of_ = session;
  const bool python = RunsPython(*session);
  if (python == from_site_->isChecked()) return;
  const QSignalBlocker blocked(from_site_);
  from_site_->setChecked(python);
  stacks_.reset();
}

void FlameView::Ask() {
  const Theme theme = Theme::From(palette());
  legend_->setText(QStringLiteral("<span style='color:%1'>■</span> %2&nbsp; "
                                  "<span style='color:%3'>■</span> %4")
                       .arg(theme.Frame(false, {}).name(), tr("native"),
                            theme.Frame(true, {}).name(), tr("Python")));
  if (document_->session() == nullptr || document_->timelines() == nullptr) return Clear();
  ChooseDepth();
  window_ = selection_->window();
  flame_path_ = selection_->flame_path();
  std::vector<std::string> zoom;
  for (const QString& function : flame_path_) zoom.push_back(function.toStdString());
  using analysis::CallStacks;
  job_.Start(
      [session = document_->session(), symbols = document_->symbols(), query = Query(),
       stacks = stacks_, last = canvas_->source(), zoom = std::move(zoom), mode = mode(),
       by_count = by_count(), from_allocators = direction_->currentIndex() == 1,
       depth = from_site_->isChecked() ? CallStacks::Depth::kFromSite
                                       : CallStacks::Depth::kWhole](std::stop_token stop) {
        Found found;
        found.stacks = stacks;
        if (stacks == nullptr) {
          const std::vector<analysis::Site> sites = analysis::FindSites(*session, query);
          if (stop.stop_requested()) return found;
          found.stacks = std::make_shared<const CallStacks>(*session, *symbols, sites, depth);
        }
        const bool graph = mode == Mode::kIcicle || mode == Mode::kFlame;
        const bool bottom_up = graph ? from_allocators : mode == Mode::kBottomUp;
        if (stop.stop_requested()) return found;
        if (mode == Mode::kCallers) {
          found.functions = found.stacks->Functions();
          if (found.stacks->size() > 0)
            found.first = found.stacks->FindFunction(symbols->Site(found.stacks->site(0)));
          return found;
        }
        const bool same = last != nullptr && &last->stacks() == found.stacks.get() &&
                          last->bottom_up() == bottom_up;
        found.tree =
            same ? last : std::make_shared<const analysis::CallTree>(found.stacks, bottom_up);
        if (graph) {
          found.flame = std::make_shared<const analysis::FlameTree>(
              analysis::FlattenTree(*found.tree, by_count, kMinShare, zoom));
        }
        return found;
      },
      [this](Found found) { Show(std::move(found)); });
}

bool FlameView::WriteCsv(QTextStream* out) const {
  if (pages_->currentWidget() == tree_) {
    tree_->WriteCsv(out);
  } else if (pages_->currentWidget() == callers_) {
    callers_->WriteCsv(out);
  } else {
    WriteFrameCsvHeader(out);
    // All nodes, including those that are too small to be drawn.
    analysis::FlameTree flame;
    if (canvas_->source() != nullptr) flame = analysis::FlattenTree(*canvas_->source(), by_count());
    std::vector<int> depths(flame.nodes.size(), 0);
    for (std::size_t i = 1; i < depths.size(); ++i) {
      const analysis::FlameNode& node = flame.nodes[i];
      depths[i] = depths[static_cast<std::size_t>(node.parent)] + 1;
      WriteFrameCsv(out, direction_->currentIndex() == 1 ? tr("bottom-up") : tr("top-down"),
                    depths[i] - 1, FrameOf(node), node.bytes, node.self_bytes, node.blocks);
    }
  }
  return true;
}

}  // namespace memprof::viewer
