// The stack of the timeline and the overview.
#include "viewer/views/timeline_stacks.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analysis/oom/oom.h"
#include "viewer/geometry/units.h"
#include "viewer/models/oom_explainer.h"

namespace memprof::viewer {
namespace {

using analysis::FailedRequest;
using analysis::Session;
using analysis::TimelineGrouping;

// The number of failed requests with texts; a program that retries in a loop also fails in a loop.
constexpr std::size_t kMaxFailures = 20'000;
// Per cent of the capacity from which on the rest of the device matters.
constexpr std::uint64_t kNearlyFull = 85;

// The site of the request, by the same name as on the page that explains the failure.
QString Requester(OomExplainer& explainer, const FailedRequest& request,
                  std::unordered_map<std::uint32_t, QString>* known) {
  if (!request.stack.valid()) return {};
  const auto [at, fresh] = known->try_emplace(request.stack.value);
  if (fresh) at->second = explainer.SiteOf(request);
  return at->second;
}

TimelineMarker MarkerOf(const Session& session, const FailedRequest& request,
                        const QString& requester) {
  TimelineMarker marker{MarkerKind::kFailedRequest,
                        request.time,
                        QStringLiteral("failed: %1").arg(FormatBytes(request.bytes)),
                        {}};
  QString text = QStringLiteral("<b>A request for %1 failed</b>").arg(FormatBytes(request.bytes));
  if (!requester.isEmpty())
    text += QStringLiteral("<br>requested by %1").arg(requester.toHtmlEscaped());
  const QString api = ToQString(session.string(request.api));
  text += request.framework ? QStringLiteral("<br>of the framework's allocator")
                            : QStringLiteral("<br>of the driver");
  if (!api.isEmpty()) text += QStringLiteral(", %1").arg(api.toHtmlEscaped());
  if (request.driver_bytes != request.bytes)
    text += QStringLiteral(", which requested %1 from the driver")
                .arg(FormatBytes(request.driver_bytes));
  if (request.step >= 0) text += QStringLiteral("<br>in step %1").arg(request.step);
  if (request.recovered)
    text += QStringLiteral("<br>A later attempt of the same thread got as much.");
  text += QStringLiteral("<br>Click: go to this instant.");
  marker.text = text;
  return marker;
}

TimelineMarker MarkerOf(const analysis::SnapshotInfo& snapshot) {
  const QString label = ToQString(snapshot.label);
  const QString name = label.isEmpty() ? QStringLiteral("snapshot") : label;
  return {MarkerKind::kSnapshot, snapshot.time, name,
          QStringLiteral("<b>%1</b><br>A snapshot that the program requested."
                         "<br>Click: go to this instant.")
              .arg(name.toHtmlEscaped())};
}

}  // namespace

TimelineStacks* TimelineStacks::Of(Document* document, Selection* selection) {
  auto* stacks = selection->findChild<TimelineStacks*>(QString(), Qt::FindDirectChildrenOnly);
  return stacks != nullptr ? stacks : new TimelineStacks(document, selection);
}

TimelineStacks::TimelineStacks(Document* document, Selection* selection)
    : QObject(selection), document_(document), selection_(selection) {
  connect(document, &Document::TimelinesReady, this, &TimelineStacks::Update);
  connect(document, &Document::StateChanged, this, &TimelineStacks::Update);
  connect(document, &Document::PassingChanged, this, &TimelineStacks::Update);
  connect(document, &Document::CategoriesReady, this, &TimelineStacks::Update);
  connect(document, &Document::SiteColorsChanged, this, &TimelineStacks::Update);
  connect(selection, &Selection::DeviceChanged, this, [this] {
    ChooseMarkers();
    Update();
    emit WholeDeviceChanged();
  });
  Update();
}

void TimelineStacks::SetGrouping(TimelineGrouping grouping) {
  if (grouping == grouping_) return;
  grouping_ = grouping;
  hidden_.clear();
  emit GroupingChanged();
  Update();
}

bool TimelineStacks::knows_rest() const {
  return rests_ != nullptr && rests_->contains(selection_->device());
}

bool TimelineStacks::whole_device() const {
  const bool full = std::find(full_.begin(), full_.end(), selection_->device()) != full_.end();
  return knows_rest() && whole_.value_or(full);
}

void TimelineStacks::SetWholeDevice(bool whole) {
  if (whole != whole_device()) ChooseWholeDevice(whole);
}

void TimelineStacks::ChooseWholeDevice(bool whole) {
  whole_ = whole;
  emit WholeDeviceChanged();
  Update();
}

bool TimelineStacks::IsBand(const analysis::StackBand& one, int band) const {
  const analysis::StackBand& of = bands_->stack->bands()[static_cast<std::size_t>(band)];
  if (one.kind == analysis::StackBandKind::kSite && of.kind == one.kind)
    return bands_->stack->BandOfSite(one.site) == band;
  return one.kind == of.kind && one.layer == of.layer && one.category == of.category &&
         one.stream == of.stream && one.process == of.process;
}

bool TimelineStacks::hidden(int band) const {
  return bands_ != nullptr && band >= 0 &&
         std::any_of(hidden_.begin(), hidden_.end(),
                     [&](const analysis::StackBand& one) { return IsBand(one, band); });
}

void TimelineStacks::ToggleBand(int band) {
  if (bands_ == nullptr || band < 0) return;
  const auto removed =
      std::erase_if(hidden_, [&](const analysis::StackBand& one) { return IsBand(one, band); });
  if (removed == 0) hidden_.push_back(bands_->stack->bands()[static_cast<std::size_t>(band)]);
  Update();
}

void TimelineStacks::ShowAllBands() {
  hidden_.clear();
  Update();
}

QString TimelineStacks::Note() const {
  if (bands_ == nullptr) return {};
  if (waits_for_categories_) return tr("judging what memory is for …");
  return build_job_.running() ? tr("adding up …") : QString();
}

void TimelineStacks::Update() {
  FindMarkers();
  const TimelineBands* kinds = document_->bands(selection_->device());
  if (kinds == nullptr) {
    build_job_.Cancel();
    wanted_ = {};
    bands_.reset();
    emit Changed();
    return;
  }
  Source source{kinds->stack,         grouping_, whole_device(), hidden_, {},
                document_->passing(), nullptr};
  if (grouping_ == TimelineGrouping::kSite) source.pins = document_->site_colors()->pins();
  waits_for_categories_ = false;
  if (grouping_ == TimelineGrouping::kCategory) {
    source.categories = document_->categories();
    waits_for_categories_ = source.categories == nullptr;
    if (waits_for_categories_) source.grouping = TimelineGrouping::kKind;
  }
  if (source == wanted_ && bands_ != nullptr) return emit Changed();
  const bool same_stack = source.kinds == wanted_.kinds;
  wanted_ = std::move(source);
  const std::shared_ptr<const TimelineBands> plain(document_->timelines(), kinds);
  if (wanted_.grouping == TimelineGrouping::kKind && wanted_.passing == nullptr &&
      !wanted_.whole_device && wanted_.hidden.empty()) {
    build_job_.Cancel();
    bands_ = plain;
  } else {
    // A log that grows keeps its picture until the new one is there.
    const bool stays =
        bands_ != nullptr && bands_->device == kinds->device && (same_stack || document_->grew());
    if (!stays) bands_ = plain;
    Build();
  }
  emit Changed();
}

void TimelineStacks::Build() {
  build_job_.Start(
      [source = wanted_, symbols = document_->symbols(),
       colors = document_->site_colors()](std::stop_token stop) {
        std::shared_ptr<const TimelineBands> bands;
        analysis::StackGroups groups = analysis::FindGroups(
            *source.kinds, {source.grouping, source.passing, source.categories.get(), symbols.get(),
                            source.hidden, source.whole_device});
        if (stop.stop_requested()) return bands;
        bands = std::make_shared<const TimelineBands>(MakeBands(
            std::make_shared<const analysis::TimelineStack>(*source.kinds, std::move(groups)),
            symbols.get(), [&colors](const QStringList& keys) { return colors->Of(keys); }));
        return bands;
      },
      [this](std::shared_ptr<const TimelineBands> bands) {
        if (bands != nullptr) bands_ = std::move(bands);
        emit Changed();
      });
}

void TimelineStacks::FindMarkers() {
  const bool ready = document_->state() == Document::State::kReady || document_->grew();
  const std::shared_ptr<const Session> session = ready ? document_->session() : marked_;
  if (session == marked_) return;
  marked_ = session;
  failures_.clear();
  ChooseMarkers();
  FindRests();
  if (!document_->grew()) hidden_.clear();
  if (session == nullptr) return marker_job_.Cancel();
  marker_job_.Start(
      [session, symbols = document_->symbols()](std::stop_token stop) {
        std::vector<Failure> failures;
        std::unordered_map<std::uint32_t, QString> requesters;
        const std::vector<FailedRequest> found = analysis::FindFailures(*session);
        if (found.empty()) return failures;
        OomExplainer explainer(session, symbols);
        for (const FailedRequest& request : found) {
          if (stop.stop_requested() || failures.size() >= kMaxFailures) break;
          failures.push_back(
              {request.device,
               MarkerOf(*session, request, Requester(explainer, request, &requesters))});
        }
        return failures;
      },
      [this](std::vector<Failure> failures) {
        failures_ = std::move(failures);
        ChooseMarkers();
        emit Changed();
      });
}

void TimelineStacks::FindRests() {
  struct Found {
    std::shared_ptr<const analysis::DeviceRests> rests;
    std::vector<int> full;
  };
  if (marked_ == nullptr) {
    rest_job_.Cancel();
    rests_.reset();
    full_.clear();
    return;
  }
  rest_job_.Start(
      [session = marked_](std::stop_token) {
        Found found{analysis::RestsOf(*session), {}};
        for (const auto& [device, rest] : *found.rests)
          if (rest.most_used >= rest.capacity / 100 * kNearlyFull) found.full.push_back(device);
        // What no device could ever hold says nothing of this one.
        for (const FailedRequest& request : analysis::FindFailures(*session)) {
          const auto rest = found.rests->find(request.device);
          if (rest != found.rests->end() && request.bytes <= rest->second.capacity)
            found.full.push_back(request.device);
        }
        return found;
      },
      [this](Found found) {
        rests_ = std::move(found.rests);
        full_ = std::move(found.full);
        emit WholeDeviceChanged();
        Update();
      });
}

void TimelineStacks::ChooseMarkers() {
  auto markers = std::make_shared<std::vector<TimelineMarker>>();
  if (marked_ != nullptr) {
    for (const analysis::SnapshotInfo& snapshot : marked_->snapshots())
      markers->push_back(MarkerOf(snapshot));
  }
  for (const Failure& failure : failures_)
    if (failure.device == selection_->device() || failure.device == analysis::kNoDevice)
      markers->push_back(failure.marker);
  std::stable_sort(
      markers->begin(), markers->end(),
      [](const TimelineMarker& a, const TimelineMarker& b) { return a.time < b.time; });
  markers_ = std::move(markers);
}

}  // namespace memprof::viewer
