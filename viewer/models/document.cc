// One log, open in a window: what was read from it so far, and what was computed for the views.
#include "viewer/models/document.h"

#include <QElapsedTimer>
#include <QFileInfo>
#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/base/status_text.h"
#include "viewer/geometry/units.h"
#include "viewer/models/load_log.h"

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
  session.facts().Drop<analysis::DeviceTimelines>();  // the pictures have curves of their own
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

}  // namespace

Document::Document(QObject* parent) : QObject(parent) {
  follow_timer_.setSingleShot(true);
  connect(&follow_timer_, &QTimer::timeout, this, &Document::ReadAgain);
}
Document::~Document() = default;

void Document::OpenTogether(const QStringList& paths) {
  opening_ = paths;
  follow_timer_.stop();
  error_.clear();
  progress_ = 0;
  SetState(State::kLoading);
  const auto report = load_job_.Reporter([this](double share) {
    if (state_ != State::kLoading) return;
    progress_ = share;
    emit ProgressChanged(share);
  });
  std::vector<std::string> logs;
  for (const QString& path : paths) logs.push_back(path.toStdString());
  const auto skipped = std::make_shared<std::vector<std::string>>();
  load_job_.Start([logs = std::move(logs), report, skipped](
                      std::stop_token stop) { return LoadLogs(logs, report, stop, skipped.get()); },
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
    if (session_ == nullptr) paths_ = opening_;
    SetState(session_ == nullptr ? State::kFailed : State::kReady);
    FollowLater(0);
    return;
  }
  // What is read or computed of the log before is for nothing, and holds its memory.
  follow_timer_.stop();
  for (JobTracker* job : {&timeline_job_, &report_job_, &categories_job_, &filter_job_, &grow_job_,
                          &fragmentation_job_})
    job->Cancel();
  grew_ = false;
  timelines_.reset();
  report_.reset();
  categories_.reset();
  passing_.reset();
  paths_ = opening_;
  session_ = *std::move(session);
  symbols_ = std::make_shared<analysis::Symbols>(session_);
  site_colors_ = std::make_shared<SiteColors>();
  fragmentation_ = std::make_shared<const analysis::FragmentationHistory>(session_);
  step_clock_ = StepClock(session_->steps(), bounds());
  progress_ = 1;
  SetState(State::kReady);
  StartJobs();
  followed_sizes_.clear();
  FollowLater(0);
}

// One after the other: the picture is what people wait for, and each needs memory of its own while
// it works.
void Document::StartJobs() {
  timeline_job_.Start([session = session_](std::stop_token) { return MakeTimelines(session); },
                      [this](std::shared_ptr<const std::vector<TimelineBands>> bands) {
                        timelines_ = std::move(bands);
                        StartReport();
                        emit TimelinesReady();
                      });
  if (!filter_.everything()) SetFilter(filter_);
}

void Document::StartReport() {
  report_job_.Start([session = session_, symbols = symbols_](
                        std::stop_token stop) { return MakeReport(*session, *symbols, stop); },
                    [this](std::shared_ptr<const ReportData> report) {
                      report_ = std::move(report);
                      StartCategories();
                      emit ReportReady();
                    });
}

void Document::StartCategories() {
  categories_job_.Start(
      [session = session_, symbols = symbols_](std::stop_token) {
        return std::make_shared<const analysis::Categories>(*session, symbols.get());
      },
      [this](std::shared_ptr<const analysis::Categories> categories) {
        categories_ = std::move(categories);
        PrepareFragmentation();
        emit CategoriesReady();
        if (filter_.category) SetFilter(filter_);
      });
}

// Of a log that grows, the indices would be for nothing a second later.
void Document::PrepareFragmentation() {
  if (session_->run().growing) return;
  fragmentation_job_.Start(
      [history = fragmentation_](std::stop_token) {
        history->Prepare();
        return true;
      },
      [](bool) {});
}

void Document::FollowLater(double load_seconds) {
  constexpr double kMinSeconds = 1,
                   kOfTheTime = 3;  // seconds; waits so many times what loading took
  if (session_ == nullptr || !session_->run().growing) return;
  follow_timer_.start(static_cast<int>(std::max(kMinSeconds, kOfTheTime * load_seconds) * 1000));
}

void Document::ReadAgain() {
  QList<qint64> sizes;
  for (const QString& path : paths_) sizes << QFileInfo(path).size();
  if (state_ != State::kReady || sizes == followed_sizes_) {
    FollowLater(0);
    return;
  }
  followed_sizes_ = sizes;
  std::vector<std::string> logs;
  for (const QString& path : paths_) logs.push_back(path.toStdString());
  QElapsedTimer watch;
  watch.start();
  grow_job_.Start(
      [logs = std::move(logs)](std::stop_token stop) {
        Contents contents;
        auto session = LoadLogs(
            logs, [](double) {}, stop);
        if (!session.ok()) return contents;
        contents.session = *std::move(session);
        contents.symbols = std::make_shared<analysis::Symbols>(contents.session);
        contents.timelines = MakeTimelines(contents.session);
        contents.report = MakeReport(*contents.session, *contents.symbols, stop);
        contents.categories =
            std::make_shared<const analysis::Categories>(*contents.session, contents.symbols.get());
        return contents;
      },
      [this, watch](Contents contents) {
        if (contents.session != nullptr) Grew(std::move(contents));
        FollowLater(static_cast<double>(watch.elapsed()) / 1000);
      });
}

void Document::Grew(Contents contents) {
  for (JobTracker* job :
       {&timeline_job_, &report_job_, &categories_job_, &filter_job_, &fragmentation_job_})
    job->Cancel();
  session_ = std::move(contents.session);
  symbols_ = std::move(contents.symbols);
  fragmentation_ = std::make_shared<const analysis::FragmentationHistory>(session_);
  timelines_ = std::move(contents.timelines);
  report_ = std::move(contents.report);
  categories_ = std::move(contents.categories);
  step_clock_ = StepClock(session_->steps(), bounds());
  grew_ = true;
  passing_.reset();
  emit StateChanged();
  emit TimelinesReady();
  emit ReportReady();
  emit CategoriesReady();
  if (!filter_.everything()) SetFilter(filter_);
}

void Document::SetFilter(const analysis::AllocationFilter& filter) {
  filter_ = filter;
  if (session_ == nullptr || filter.everything()) {
    filter_job_.Cancel();
    if (passing_ == nullptr) return;
    passing_.reset();
    emit PassingChanged();
    return;
  }
  filter_job_.Start(
      [session = session_, symbols = symbols_, categories = categories_, filter](std::stop_token) {
        return std::make_shared<const analysis::AllocationSet>(
            analysis::Matching(*session, *symbols, categories.get(), filter));
      },
      [this](std::shared_ptr<const analysis::AllocationSet> passing) {
        passing_ = std::move(passing);
        emit PassingChanged();
      });
}

void Document::Cancel() {
  load_job_.Cancel();
  if (state_ == State::kLoading) SetState(session_ == nullptr ? State::kEmpty : State::kReady);
}

void Document::SetState(State state) {
  state_ = state;
  emit StateChanged();
}

const TimelineBands* Document::bands(int device) const {
  if (timelines_ == nullptr) return nullptr;
  for (const TimelineBands& bands : *timelines_) {
    if (bands.device == device) return &bands;
  }
  return nullptr;
}

const analysis::DeviceInfo* Document::device(int id) const {
  if (session_ == nullptr) return nullptr;
  for (const analysis::DeviceInfo& info : session_->devices()) {
    if (info.id == id) return &info;
  }
  return nullptr;
}

analysis::TimeWindow Document::bounds() const {
  if (session_ == nullptr) return {0, 1};
  const analysis::RunInfo& run = session_->run();
  analysis::TimeNs begin = run.start_time, end = run.end_time;
  if (session_->events().size() > 0) {
    begin = std::min(begin, session_->events().first_time());
    end = std::max(end, session_->events().last_time());
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
    // A block tells the tensor that lay in it longest ago: the one it was made for.
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
