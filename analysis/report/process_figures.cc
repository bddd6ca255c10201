// One pass over all lifetimes, summed up by process.
#include "analysis/report/process_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/numeric/int128.h"
#include "analysis/leaks/clock.h"
#include "analysis/leaks/survivors.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// The current memory of a process, and the part of the window that is being filled.
struct Holding {
  std::uint64_t driver = 0, in_use = 0, reserved = 0, host = 0, imported = 0;
  std::uint64_t seen_driver = 0, seen_in_use = 0;  // within the window, or before it
  std::size_t column = 0;
  bool begun = false;    // the first part has values
  bool touched = false;  // since the last event
};

class Visitor {
 public:
  Visitor(const Session& session, const ProcessQuery& query, std::vector<ProcessFigures>* figures)
      : session_(session),
        window_(query.window),
        columns_(static_cast<std::size_t>(std::max(query.columns, 0))),
        passing_(query.passing),
        figures_(*figures),
        holdings_(figures->size()) {}

  void Birth(EventId, AllocationId id) {
    if (passing_ != nullptr && !passing_->Has(id)) return;
    const AllocationRecord& record = session_.record(id);
    const std::uint32_t process = session_.ProcessOf(record.birth);
    ++figures_[process].allocations;
    Change(process, record, true);
    if (OccupiesDevice(record.layer) && record.device >= 0) {
      std::vector<int>& devices = figures_[process].devices;
      const auto at = std::lower_bound(devices.begin(), devices.end(), int{record.device});
      if (at == devices.end() || *at != record.device) devices.insert(at, record.device);
    }
  }
  void Death(EventId, AllocationId id) {
    if (passing_ != nullptr && !passing_->Has(id)) return;
    const AllocationRecord& record = session_.record(id);
    Change(session_.ProcessOf(record.birth), record, false);
  }
  void After(EventId event) {
    ++figures_[session_.ProcessOf(event)].events;
    if (touched_.empty()) return;
    const TimeNs now = session_.events().time(event.value);
    for (const std::uint32_t process : touched_) {
      Holding& holding = holdings_[process];
      holding.touched = false;
      ProcessFigures& figures = figures_[process];
      if (holding.driver > figures.driver_peak_bytes) figures.driver_peak_time = now;
      const auto raise = [](std::uint64_t* most, std::uint64_t value) {
        *most = std::max(*most, value);
      };
      raise(&figures.driver_peak_bytes, holding.driver);
      raise(&figures.in_use_peak_bytes, holding.in_use);
      raise(&figures.reserved_peak_bytes, holding.reserved);
      raise(&figures.host_peak_bytes, holding.host);
      raise(&figures.imported_peak_bytes, holding.imported);
      Sample(process, now);
    }
    touched_.clear();
  }
  void Finish() {
    for (std::uint32_t process = 0; process < holdings_.size(); ++process) {
      figures_[process].driver_end_bytes = holdings_[process].driver;
      figures_[process].in_use_end_bytes = holdings_[process].in_use;
      if (columns_ > 0) MoveTo(process, columns_ - 1);
    }
  }

 private:
  void Change(std::uint32_t process, const AllocationRecord& record, bool birth) {
    Holding& holding = holdings_[process];
    std::uint64_t* sum = nullptr;
    if (OccupiesDevice(record.layer)) sum = &holding.driver;
    if (OccupiesHost(record.layer)) sum = &holding.host;
    if (record.layer == Layer::kBlock) sum = &holding.in_use;
    if (record.layer == Layer::kSegment) sum = &holding.reserved;
    if (record.layer == Layer::kImported && !IsImportView(record.import_kind))
      sum = &holding.imported;
    if (sum == nullptr) return;
    *sum = birth ? *sum + record.bytes : *sum - record.bytes;
    if (!holding.touched) touched_.push_back(process);
    holding.touched = true;
  }

  // Part of the window in which `time` lies.
  std::size_t ColumnOf(TimeNs time) const {
    const TimeNs length = std::max<TimeNs>(window_.end - window_.begin, 1);
    const absl::uint128 at = absl::uint128(time - window_.begin) * columns_ / length;
    return std::min(static_cast<std::size_t>(absl::Uint128Low64(at)), columns_ - 1);
  }
  // Begins every part up to `column` with the values held until now.
  void MoveTo(std::uint32_t process, std::size_t column) {
    Holding& holding = holdings_[process];
    std::vector<ProcessColumn>& columns = figures_[process].columns;
    const ProcessColumn held = {holding.seen_driver, holding.seen_driver, holding.seen_in_use,
                                holding.seen_in_use};
    if (!holding.begun) columns[0] = held;
    holding.begun = true;
    while (holding.column < column) columns[++holding.column] = held;
  }
  // Sets the values of a process from `now` on.
  void Sample(std::uint32_t process, TimeNs now) {
    Holding& holding = holdings_[process];
    if (columns_ == 0 || now >= window_.end) return;
    if (now >= window_.begin) MoveTo(process, ColumnOf(now));
    holding.seen_driver = holding.driver;
    holding.seen_in_use = holding.in_use;
    if (now < window_.begin) return;
    ProcessColumn& column = figures_[process].columns[holding.column];
    column.driver_least = std::min(column.driver_least, holding.driver);
    column.driver_most = std::max(column.driver_most, holding.driver);
    column.in_use_least = std::min(column.in_use_least, holding.in_use);
    column.in_use_most = std::max(column.in_use_most, holding.in_use);
  }

  const Session& session_;
  const TimeWindow window_;
  const std::size_t columns_;
  const AllocationSet* const passing_;
  std::vector<ProcessFigures>& figures_;
  std::vector<Holding> holdings_;
  std::vector<std::uint32_t> touched_;
};

void AddLeaked(const Session& session, const ProcessQuery& query,
               std::vector<ProcessFigures>* figures) {
  ForEachSurvivor(session, query.leaks, [&](std::size_t leak, AllocationId id) {
    if (query.passing == nullptr || query.passing->Has(id))
      (*figures)[query.leaks[leak].process].leaked_bytes += session.record(id).bytes;
  });
}

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<ProcessFigures> FindProcessFigures(const Session& session, const ProcessQuery& query,
                                               const std::stop_token& stop) {
  // Events between two checks of the stop token.
  constexpr std::uint32_t kStride = 1 << 18;
  std::vector<ProcessFigures> figures(session.processes().size());
  for (std::uint32_t i = 0; i < figures.size(); ++i) {
    figures[i].process = i;
    figures[i].columns.resize(static_cast<std::size_t>(std::max(query.columns, 0)));
  }
  Visitor visitor(session, query, &figures);
  const auto events = static_cast<std::uint32_t>(session.events().size());
  for (std::uint32_t begin = 0; begin < events && !stop.stop_requested();) {
    const std::uint32_t end = begin + std::min(kStride, events - begin);
    WalkLifetimes(session, EventId(begin), EventId(end), visitor);
    begin = end;
  }
  visitor.Finish();
  if (!stop.stop_requested()) AddLeaked(session, query, &figures);
  return figures;
}

Spread SpreadOf(std::span<const std::uint64_t> figures) {
  Spread spread;
  if (figures.empty()) return spread;
  std::vector<double> values(figures.begin(), figures.end());
  for (const double value : values) spread.mean += value / static_cast<double>(values.size());
  spread.median = MedianOf(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - spread.median));
  spread.deviation = 1.4826 * MedianOf(distances);
  spread.least = *std::min_element(figures.begin(), figures.end());
  spread.most = *std::max_element(figures.begin(), figures.end());
  if (spread.mean > 0)
    spread.imbalance = (static_cast<double>(spread.most) - spread.mean) / spread.mean;
  if (figures.size() < 3) return spread;
  for (std::uint32_t i = 0; i < figures.size(); ++i) {
    if (distances[i] > kOutlierDeviations * spread.deviation &&
        distances[i] > kOutlierShare * spread.median)
      spread.outliers.push_back(i);
  }
  return spread;
}

}  // namespace memprof::analysis
