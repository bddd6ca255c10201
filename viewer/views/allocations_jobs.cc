// The picture of all allocations: jobs.
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/views/allocations_canvas.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

std::shared_ptr<const AllocationsData> MakeData(
    const std::shared_ptr<const analysis::Session>& session,
    std::shared_ptr<analysis::Symbols> symbols, int device, bool by_address,
    analysis::TimeWindow bounds, const std::stop_token& stop) {
  auto data = std::make_shared<AllocationsData>();
  data->symbols = std::move(symbols);
  if (by_address) {
    data->addresses = analysis::LayOutAddresses(*session, device, stop);
    data->segments = std::make_shared<const AllocationIndex>(
        session, std::move(data->addresses.segments), bounds);
    data->index =
        std::make_shared<const AllocationIndex>(session, std::move(data->addresses.lanes), bounds);
    data->addresses.lanes = {};
    data->addresses.segments = {};
  } else {
    data->index = std::make_shared<const AllocationIndex>(
        session, analysis::PackLanes(*session, device, stop), bounds);
  }
  for (analysis::FailedRequest& failure : analysis::FindFailures(*session))
    if (failure.device == device) data->failures.push_back(std::move(failure));
  return data;
}

bool LogsUses(const analysis::Session& session, const std::stop_token& stop) {
  const analysis::EventTable& events = session.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const analysis::Op op = events.op(i);
    if (op == analysis::Op::kLaunch || op == analysis::Op::kMemcpy || op == analysis::Op::kMemset) {
      return true;
    }
    if (i % (1 << 16) == 0 && stop.stop_requested()) return false;
  }
  return false;
}

}  // namespace

void AllocationsCanvas::Forget() {
  for (JobTracker* job : {&data_job_, &color_job_, &picture_job_, &uses_job_, &name_job_})
    job->Cancel();
  names_.clear();
  session_.reset();
  data_.reset();
  colors_.reset();
  picture_.reset();
  whole_.reset();
  uses_.reset();
  hover_.reset();
  emit Changed();
}

void AllocationsCanvas::Update() {
  update();
  if (document_->session() == nullptr) {
    Forget();
    return;
  }
  if (session_ != document_->session() || device_ != selection_->device()) {
    AskData();
  } else if (data_ != nullptr) {
    if (colors_ == nullptr || !(colors_key_ == WantedColors())) {
      AskColors();
    } else {
      AskPicture();
    }
  }
}

bool AllocationsCanvas::Grew() const {
  return session_ != nullptr && document_->session() != nullptr && paths_ == document_->paths() &&
         device_ == selection_->device();
}

void AllocationsCanvas::AskData() {
  if (!Grew()) Forget();
  session_ = document_->session();
  paths_ = document_->paths();
  device_ = selection_->device();
  data_job_.Start(
      [session = session_, symbols = document_->symbols(), device = device_,
       by_address = layout_ == Layout::kAddresses,
       bounds = document_->bounds()](std::stop_token stop) {
        return MakeData(session, symbols, device, by_address, bounds, stop);
      },
      [this](std::shared_ptr<const AllocationsData> made) {
        const bool all_shown = data_ == nullptr || high_ - low_ >= WholeBox().high;
        data_ = std::move(made);
        colors_.reset();
        hover_.reset();
        names_.clear();
        if (all_shown) {
          low_ = 0;
          high_ = std::max(1.0, WholeBox().high);
        }
        AskUses();
        Update();
      });
}

void AllocationsCanvas::AskUses() {
  if (uses_ != nullptr && uses_->session == session_) return;
  uses_.reset();
  uses_job_.Start(
      [session = session_](std::stop_token stop) -> std::shared_ptr<const Uses> {
        if (!LogsUses(*session, stop)) return nullptr;
        return std::make_shared<const Uses>(session);
      },
      [this](std::shared_ptr<const Uses> uses) { uses_ = std::move(uses); });
}

AllocationsCanvas::ColorKey AllocationsCanvas::WantedColors() const {
  ColorKey key;
  key.coloring = coloring_;
  key.passing = document_->passing().get();
  if (coloring_ == AllocationColoring::kCategory) key.extra = document_->categories().get();
  if (coloring_ == AllocationColoring::kLeak) key.extra = document_->report().get();
  key.site = selection_->site();
  key.pins = document_->site_colors()->pins();
  key.dark = Theme::From(palette()).dark;
  return key;
}

void AllocationsCanvas::AskColors() {
  AllocationColorInputs inputs;
  inputs.index = data_->index;
  inputs.symbols = data_->symbols;
  inputs.site_colors = document_->site_colors();
  inputs.passing = document_->passing();
  inputs.categories = document_->categories();
  inputs.report = document_->report();
  inputs.coloring = coloring_;
  inputs.site = selection_->site();
  inputs.theme = Theme::From(palette());
  color_job_.Start(
      [inputs](std::stop_token) {
        return std::make_shared<const AllocationColors>(ColorAllocations(inputs));
      },
      [this, key = WantedColors()](std::shared_ptr<const AllocationColors> colors) {
        colors_ = std::move(colors);
        colors_key_ = key;
        picture_stale_ = whole_stale_ = true;
        emit Changed();
        AskPicture();
      });
}

PictureBox AllocationsCanvas::WholeBox() const {
  return {selection_->bounds(), 0, data_ != nullptr ? data_->index->bytes() : 1};
}

AllocationPictureQuery AllocationsCanvas::WantedPicture() const {
  AllocationPictureQuery query;
  const QRectF plot = PlotRect();
  query.index = data_->index;
  query.colors = colors_;
  query.segments = data_->segments;
  query.box = Box();
  if (const StepClock* clock = ShownClock(*document_, *selection_)) query.clock = *clock;
  query.ratio = devicePixelRatioF();
  query.width = static_cast<int>(std::lround(plot.width() * query.ratio));
  query.height = static_cast<int>(std::lround(plot.height() * query.ratio));
  query.theme = Theme::From(palette());
  query.label_height =
      static_cast<int>(std::ceil((QFontMetricsF(SmallFont(font())).height() + 1) * query.ratio));
  return query;
}

bool AllocationsCanvas::Shows(const AllocationPicture* picture, const PictureBox& box) const {
  if (picture == nullptr) return false;
  const QRectF plot = PlotRect();
  const PictureBox& has = picture->box;
  return has.window.begin == box.window.begin && has.window.end == box.window.end &&
         has.low == box.low && has.high == box.high &&
         picture->steps == (ShownClock(*document_, *selection_) != nullptr) &&
         picture->image.width() ==
             static_cast<int>(std::lround(plot.width() * devicePixelRatioF())) &&
         picture->image.height() ==
             static_cast<int>(std::lround(plot.height() * devicePixelRatioF()));
}

// One picture at a time: the newest window is drawn when the previous picture is done, so that
// there are new pictures also during a gesture.
void AllocationsCanvas::AskPicture() {
  if (picture_job_.running() || data_ == nullptr || colors_ == nullptr) return;
  AllocationPictureQuery query = WantedPicture();
  const bool picture_wanted = picture_stale_ || !Shows(picture_.get(), query.box);
  // The picture of everything is drawn only while no other one is needed.
  const PictureBox whole = WholeBox();
  const bool whole_wanted =
      whole_stale_ || whole_ == nullptr || whole_->steps != query.clock.known();
  if (!picture_wanted && !whole_wanted) return;
  if (picture_wanted) {
    picture_stale_ = false;
  } else {
    query.box = whole;
    whole_stale_ = false;
  }
  picture_job_.Start(
      [query = std::move(query)](std::stop_token stop) {
        return std::make_shared<const AllocationPicture>(DrawAllocations(query, stop));
      },
      [this, picture_wanted](std::shared_ptr<const AllocationPicture> picture) {
        if (picture->stopped) return;
        const PictureBox all = WholeBox();
        const bool is_whole = picture->box.window.begin == all.window.begin &&
                              picture->box.window.end == all.window.end &&
                              picture->box.low == all.low && picture->box.high == all.high;
        if (is_whole) {
          whole_ = picture;
          if (!picture_stale_) whole_stale_ = false;
        }
        if (picture_wanted) picture_ = std::move(picture);
        hover_.reset();
        update();
        emit Changed();
        AskPicture();
      });
}

// Resolving a name may open a module's debug information, so it runs in a job: painting must not
// wait for it.
void AllocationsCanvas::AskName(std::size_t row, const std::function<void()>& then) {
  const analysis::StackId stack = shown().record(data_->index->id(row)).stack;
  if (!stack.valid() || names_.contains(stack.value)) return;
  name_job_.Start(
      [symbols = data_->symbols, stack](std::stop_token) { return SiteName(*symbols, stack); },
      [this, stack, then](const QString& name) {
        names_.insert(stack.value, name);
        then();
      });
}

}  // namespace memprof::viewer
