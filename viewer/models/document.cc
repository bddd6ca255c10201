// The log open in a window: what was read from it so far, and what was computed for the views.
#include "viewer/models/document.h"

#include <QFileInfo>
#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/base/status_text.h"
#include "viewer/geometry/units.h"
#include "viewer/jobs/remote_feeds.h"
#include "viewer/models/load_log.h"
#include "viewer/models/remote_log.h"

namespace memprof::viewer {
namespace {

using analysis::Session;

// Rows shown of what merely lives at the end; the rest is in `memprof leaks`.
constexpr std::size_t kMaxLiveAtExit = 500;

LeakRow MakeLeakRow(const Session& session, analysis::Symbols& symbols,
                    const analysis::Leak& leak) {
  LeakRow row;
  row.leak = leak;
  analysis::CallSite site = symbols.SiteOf(leak.stack);
  row.site = std::move(site.user);
  row.library = std::move(site.library);
  row.stack = symbols.ResolveStack(leak.stack);
  if (leak.example.valid()) row.example = TensorLabel(session, leak.example);
  return row;
}

std::shared_ptr<const ReportData> MakeReport(const Session& session, analysis::Symbols& symbols,
                                             const std::stop_token& stop) {
  auto data = std::make_shared<ReportData>();
  data->report = analysis::BuildReport(session);
  for (const analysis::DeviceTimeline& device : *analysis::TimelinesOf(session)) {
    const analysis::Series& reserved = device.framework_reserved;
    if (!reserved.empty()) data->reserved_most[device.device] = reserved.time_of_max();
  }
  session.facts().Forget<analysis::DeviceTimelines>();  // the pictures have curves of their own
  const analysis::LeakReport& leaks = data->report.leaks;
  for (const analysis::Leak& leak : leaks.leaks) {
    if (stop.stop_requested()) return data;
    data->leaks.push_back(MakeLeakRow(session, symbols, leak));
  }
  std::set<std::tuple<std::uint32_t, std::uint32_t, analysis::Layer, int>> rising;
  const auto key = [](const analysis::Leak& leak) {
    return std::tuple(leak.process, leak.stack.value, leak.layer, leak.device);
  };
  for (const analysis::Leak& leak : leaks.rising) {
    if (stop.stop_requested() || data->rising.size() >= kMaxLiveAtExit) break;
    data->rising.push_back(MakeLeakRow(session, symbols, leak));
    data->rising.back().rising = true;
    rising.insert(key(leak));
  }
  for (const analysis::Leak& leak : leaks.live_at_exit) {
    if (stop.stop_requested() || data->live_at_exit.size() >= kMaxLiveAtExit) break;
    if (rising.contains(key(leak))) continue;
    data->live_at_exit.push_back(MakeLeakRow(session, symbols, leak));
  }
  if (!stop.stop_requested()) data->anomalies = analysis::AllAnomalies(session, symbols);
  return data;
}

std::shared_ptr<const std::vector<TimelineBands>> MakeTimelines(
    const std::shared_ptr<const Session>& session) {
  auto bands = std::make_shared<std::vector<TimelineBands>>();
  for (const auto& stack : analysis::BuildKindStacks(session))
    bands->push_back(MakeBands(stack, nullptr));
  return bands;
}

std::shared_ptr<const analysis::Holders> MakeHolders(
    const std::shared_ptr<const Session>& session) {
  return {new analysis::Holders(*session),
          [session](const analysis::Holders* holders) { delete holders; }};
}

std::vector<std::string> Utf8(const QStringList& paths) {
  std::vector<std::string> utf8;
  for (const QString& path : paths) utf8.push_back(path.toStdString());
  return utf8;
}

}  // namespace

Document::Contents::Contents(std::shared_ptr<const Session> of, bool grown)
    : grew(grown),
      session(std::move(of)),
      symbols(std::make_shared<analysis::Symbols>(session)),
      fragmentation(std::make_shared<const analysis::FragmentationHistory>(session)) {}

void Document::Contents::AddNext(const std::stop_token& stop) {
  if (timelines == nullptr) {
    timelines = MakeTimelines(session);
  } else if (report == nullptr) {
    report = MakeReport(*session, *symbols, stop);
    holders = MakeHolders(session);
  } else {
    categories = std::make_shared<const analysis::Categories>(*session, symbols.get());
  }
}

Document::Document(QObject* parent) : QObject(parent) {
  follow_timer_.setSingleShot(true);
  connect(&follow_timer_, &QTimer::timeout, this, &Document::ReadAgain);
  ask_timer_.setInterval(500);
  connect(&ask_timer_, &QTimer::timeout, this, &Document::AskFeeds);
}
Document::~Document() = default;

void Document::OpenTogether(const QStringList& paths) {
  opening_ = paths;
  follow_timer_.stop();
  error_.clear();
  progress_ = 0;
  opening_feeds_ = std::make_shared<RemoteFeeds>();
  if (std::any_of(paths.begin(), paths.end(), IsRemoteName)) ask_timer_.start();
  SetState(State::kLoading);
  const auto report = load_job_.Reporter([this](double share) {
    if (state_ != State::kLoading) return;
    progress_ = share;
    emit ProgressChanged(share);
  });
  reading_.start();
  const auto skipped = std::make_shared<std::vector<std::string>>();
  load_job_.Start(
      [logs = Utf8(paths), report, skipped, feeds = opening_feeds_](std::stop_token stop) {
        return LoadLogs(logs, report, stop, skipped.get(), feeds);
      },
      [this, skipped](absl::StatusOr<std::shared_ptr<const Session>> session) {
        QStringList left_out;
        for (const std::string& why : *skipped)
          left_out << QString::fromStdString(why).simplified();
        left_out_ = session.ok() ? left_out : QStringList();
        Loaded(std::move(session));
      });
}

void Document::Loaded(absl::StatusOr<std::shared_ptr<const Session>> session) {
  if (!session.ok()) {
    error_ = QString::fromStdString(analysis::StatusText(session.status())).simplified();
    if (contents_.session == nullptr) paths_ = opening_;
    opening_feeds_.reset();
    AskFeeds();
    SetState(contents_.session == nullptr ? State::kFailed : State::kReady);
    FollowLater();
    return;
  }
  follow_timer_.stop();
  followed_marks_.clear();
  paths_ = opening_;
  feeds_ = std::move(opening_feeds_);
  AskFeeds();
  progress_ = 1;
  state_ = State::kReady;
  const Contents contents(*std::move(session), false);
  site_colors_ =
      std::make_shared<SiteColors>(keep_site_colors_ ? LoadSitePins(paths_) : SitePins(),
                                   [from = contents.session, symbols = contents.symbols] {
                                     return RankSitesOfLog(*from, *symbols);
                                   });
  Fill(contents);
  Show(contents);
}

void Document::PinSiteColor(const QString& key, int color) {
  site_colors_->Pin(key, color);
  if (keep_site_colors_) SaveSitePins(paths_, site_colors_->pins());
  emit SiteColorsChanged();
}

void Document::Fill(Contents contents) {
  fill_job_.Start(
      [contents = std::move(contents), colors = site_colors_](std::stop_token stop) mutable {
        contents.AddNext(stop);
        if (contents.report != nullptr) colors->Prepare();
        return std::move(contents);
      },
      [this](Contents filled) {
        if (!filled.whole()) Fill(filled);
        if (filled.whole() || !filled.grew) Show(filled);
        if (!filled.whole()) return;
        PrepareFragmentation();
        FollowLater();
      });
}

void Document::Show(Contents contents) {
  const Contents before = std::exchange(contents_, std::move(contents));
  const bool another = contents_.session != before.session;
  const bool categories = contents_.categories != before.categories;
  if (another) {
    // Computations for the previous session are useless, and hold its memory.
    filter_job_.Cancel();
    fragmentation_job_.Cancel();
    passing_.reset();
    step_clock_ = StepClock(contents_.session->steps(), bounds());
    emit StateChanged();
  }
  if (contents_.timelines != nullptr && contents_.timelines != before.timelines)
    emit TimelinesReady();
  if (contents_.report != nullptr && contents_.report != before.report) emit ReportReady();
  if (contents_.categories != nullptr && categories) emit CategoriesReady();
  if (another ? !filter_.everything() : categories && filter_.category) SetFilter(filter_);
}

// Not for a log that grows: its indices would be outdated a second later.
void Document::PrepareFragmentation() {
  if (contents_.session->run().growing) return;
  fragmentation_job_.Start(
      [history = contents_.fragmentation](std::stop_token) {
        history->Prepare();
        return true;
      },
      [](bool) {});
}

void Document::FollowLater() {
  constexpr qint64 kMinMilliseconds = 1000,
                   kOfTheTime = 3;  // the wait, in multiples of the last reading's duration
  if (contents_.session == nullptr || !contents_.session->run().growing) return;
  // A log that had to be copied whole is not copied again and again.
  const auto fixed = [this](const QString& path) {
    return IsRemoteName(path) && !QFileInfo::exists(path) && feeds_->GenerationOf(path) == 0;
  };
  if (std::any_of(paths_.begin(), paths_.end(), fixed)) return;
  follow_timer_.start(
      static_cast<int>(std::max(kMinMilliseconds, kOfTheTime * reading_.elapsed())));
}

QList<std::uint64_t> Document::LogMarks() const {
  QList<std::uint64_t> marks;
  for (const QString& path : paths_) {
    const std::uint64_t generation = feeds_->GenerationOf(path);
    marks << (generation > 0 ? generation : static_cast<std::uint64_t>(QFileInfo(path).size()));
  }
  return marks;
}

// The other machine's log may be another one by now.
void Document::ReadAgain() {
  if (std::any_of(paths_.begin(), paths_.end(),
                  [this](const QString& path) { return feeds_->IsReplaced(path); }))
    return OpenTogether(paths_);
  const QList<std::uint64_t> marks = LogMarks();
  reading_.start();
  if (load_job_.running() || fill_job_.running() || marks == followed_marks_) {
    FollowLater();
    return;
  }
  load_job_.Start(
      [logs = Utf8(paths_), feeds = feeds_](std::stop_token stop) {
        return LoadLogs(
            logs, [](double) {}, stop, nullptr, feeds);
      },
      [this, marks](absl::StatusOr<std::shared_ptr<const Session>> session) {
        followed_marks_ = marks;
        if (session.ok()) {
          Fill(Contents(*std::move(session), true));
        } else {
          FollowLater();
        }
      });
}

void Document::AskFeeds() {
  const RemoteFeeds* const feeds =
      state_ == State::kLoading && opening_feeds_ != nullptr ? opening_feeds_.get() : feeds_.get();
  const QString said = feeds != nullptr ? feeds->Said() : QString();
  if (feeds == nullptr || (state_ != State::kLoading && !feeds->follows())) ask_timer_.stop();
  if (said == remote_said_) return;
  remote_said_ = said;
  emit RemoteSaid(said);
}

void Document::SetFilter(const analysis::AllocationFilter& filter) {
  filter_ = filter;
  if (contents_.session == nullptr || filter.everything()) {
    filter_job_.Cancel();
    if (passing_ == nullptr) return;
    passing_.reset();
    emit PassingChanged();
    return;
  }
  filter_job_.Start(
      [contents = contents_, filter](std::stop_token) {
        return std::make_shared<const analysis::AllocationSet>(analysis::Matching(
            *contents.session, *contents.symbols, contents.categories.get(), filter));
      },
      [this](std::shared_ptr<const analysis::AllocationSet> passing) {
        passing_ = std::move(passing);
        emit PassingChanged();
      });
}

void Document::Cancel() {
  if (state_ != State::kLoading) return;
  load_job_.Cancel();
  opening_feeds_.reset();
  SetState(contents_.session == nullptr ? State::kEmpty : State::kReady);
  FollowLater();
}

void Document::SetState(State state) {
  state_ = state;
  emit StateChanged();
}

const TimelineBands* Document::bands(int device) const {
  if (contents_.timelines == nullptr) return nullptr;
  for (const TimelineBands& bands : *contents_.timelines) {
    if (bands.device == device) return &bands;
  }
  return nullptr;
}

const analysis::DeviceInfo* Document::device(int id) const {
  if (contents_.session == nullptr) return nullptr;
  for (const analysis::DeviceInfo& info : contents_.session->devices()) {
    if (info.id == id) return &info;
  }
  return nullptr;
}

analysis::TimeWindow Document::bounds() const {
  if (contents_.session == nullptr) return {0, 1};
  const analysis::RunInfo& run = contents_.session->run();
  analysis::TimeNs begin = run.start_time, end = run.end_time;
  if (contents_.session->events().size() > 0) {
    begin = std::min(begin, contents_.session->events().first_time());
    end = std::max(end, contents_.session->events().last_time());
  }
  return {begin, std::max(end, begin + 1000)};
}

const StepClock* ShownClock(const Document& document, const Selection& selection) {
  const bool steps = selection.axis() == AxisKind::kSteps && document.step_clock().known();
  return steps ? &document.step_clock() : nullptr;
}

std::uint32_t SiteLayers(const TimelineBands* bands) {
  if (bands == nullptr) return analysis::kDeviceLayers;
  if (bands->device == analysis::kNoDevice) {
    return analysis::LayerBit(analysis::Layer::kPinned) |
           analysis::LayerBit(analysis::Layer::kRegistered);
  }
  return bands->framework ? analysis::LayerBit(analysis::Layer::kBlock) : analysis::kDeviceLayers;
}

QString TensorLabel(const Session& session, analysis::AllocationId id) {
  const analysis::Allocation& allocation = session.allocation(id);
  const analysis::TensorInfo* tensor = session.tensor(allocation.tensor);
  if (tensor == nullptr) {
    // The tensor of a block is its first one: that for which it was allocated.
    for (const analysis::AllocationId child : session.Children(id)) {
      if (session.allocation(child).layer == analysis::Layer::kTensor) {
        return TensorLabel(session, child);
      }
    }
    return {};
  }
  QStringList shape;
  for (const std::uint64_t extent : tensor->shape) shape << QString::number(extent);
  QString label = tensor->name.empty() ? QStringLiteral("tensor") : ToQString(tensor->name);
  if (!tensor->dtype.empty() || !shape.isEmpty()) {
    label +=
        QStringLiteral("  %1[%2]").arg(ToQString(tensor->dtype), shape.join(QStringLiteral("×")));
  }
  return label;
}

}  // namespace memprof::viewer
