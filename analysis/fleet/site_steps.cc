// What each site allocated and kept, over parts of the steps.
#include <algorithm>
#include <map>

#include "analysis/fleet/fleet.h"
#include "analysis/fleet/internal/tables.h"
#include "analysis/peak/run_profile.h"
#include "analysis/store/sampling.h"

namespace memprof::analysis::fleet {
namespace {

// Equal parts of the completed steps, by events.
class Parts {
 public:
  Parts(const Session& session, const StepClock& clock) : clock_(clock), steps_(clock.completed()) {
    if (steps_ == 0) {
      ends_.push_back(static_cast<std::uint32_t>(session.events().size()));
      return;
    }
    const std::int64_t parts = std::min(steps_, kMostParts);
    begin_ = clock.BeginOf(0).value;
    for (std::int64_t i = 1; i <= parts; ++i) {
      firsts_.push_back(steps_ * (i - 1) / parts);
      ends_.push_back(clock.BeginOf(steps_ * i / parts).value);
    }
  }

  std::size_t size() const { return ends_.size(); }
  std::int64_t steps() const { return steps_; }
  // The part that contains an event; the first for all before it, size() for all after the last.
  // So an allocation is alive at the ends of the parts [Of(birth), Of(death)): right before the
  // event that begins the next part.
  std::size_t Of(EventId event) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, event.value) - ends_.begin());
  }
  bool BeforeAll(EventId event) const { return event.value < begin_; }
  void SetSteps(std::size_t part, SiteStepRow* row) const {
    if (steps_ == 0) return;
    const std::int64_t next = part + 1 < size() ? firsts_[part + 1] : steps_;
    row->first_step = clock_.NumberOf(firsts_[part]);
    row->last_step = clock_.NumberOf(next - 1);
  }

 private:
  const StepClock& clock_;
  const std::int64_t steps_;
  std::uint32_t begin_ = 0;
  std::vector<std::uint32_t> ends_;   // events; a part ends before its own
  std::vector<std::int64_t> firsts_;  // steps
};

// The figures that choose the largest sites.
struct Totals {
  std::uint64_t born = 0, at_end = 0, at_peak = 0;
};

struct Cell {
  std::uint64_t born = 0, born_blocks = 0, alive = 0, alive_blocks = 0;
};

struct OfDevice {
  EventId peak;
  std::vector<Totals> totals;          // by site
  std::vector<std::uint32_t> chosen;   // sites with rows of their own, largest first
  std::vector<std::uint32_t> slots;    // by site: 1 + its place in `chosen`; 0 = the rest
  std::vector<Cell> cells;             // by slot, then by part
  std::vector<std::uint64_t> at_peak;  // by slot
};

class Collector {
 public:
  explicit Collector(const Source& source)
      : source_(source), parts_(source.session, source.clock), leaves_(source.session) {
    for (const Peak& peak : source.report.peaks) devices_[peak.device].peak = peak.event;
  }

  std::vector<SiteStepRow> Rows() {
    ForEachLeaf([this](const AllocationRecord& a, OfDevice& device, std::uint32_t site) {
      if (site >= device.totals.size()) device.totals.resize(site + 1);
      Totals& totals = device.totals[site];
      const std::size_t part = parts_.Of(a.birth);
      if (part < parts_.size() && !parts_.BeforeAll(a.birth)) totals.born += a.bytes;
      if (part < parts_.size() && parts_.Of(a.death) == parts_.size()) totals.at_end += a.bytes;
      if (AtPeak(a, device)) totals.at_peak += a.bytes;
    });
    for (auto& [ordinal, device] : devices_) Choose(&device);
    ForEachLeaf([this](const AllocationRecord& a, OfDevice& device, std::uint32_t site) {
      Add(a, device, device.slots[site]);
    });
    AddDrawn();
    std::vector<SiteStepRow> rows;
    for (auto& [ordinal, device] : devices_) AddRows(ordinal, device, &rows);
    return rows;
  }

 private:
  template <typename Visit>
  void ForEachLeaf(const Visit& visit) {
    const std::span<const AllocationRecord> records = source_.session.records();
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      if (!leaves_.Counts(AllocationId(i))) continue;
      const AllocationRecord& a = records[i];
      visit(a, devices_[a.device], source_.sites.NumberOf(a.stack));
    }
  }

  static bool AtPeak(const AllocationRecord& a, const OfDevice& device) {
    return device.peak.valid() && a.birth <= device.peak && a.death > device.peak;
  }

  void Choose(OfDevice* device) const {
    const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(1, parts_.steps()));
    const auto weight = [&](std::uint32_t site) {
      const Totals& totals = device->totals[site];
      return std::max({totals.at_end, totals.at_peak, totals.born / steps});
    };
    for (std::uint32_t site = 1; site < device->totals.size(); ++site)
      if (weight(site) > 0) device->chosen.push_back(site);
    std::ranges::stable_sort(device->chosen, std::greater(), weight);
    if (device->chosen.size() > kMostSites) device->chosen.resize(kMostSites);
    device->slots.resize(device->totals.size());
    for (std::uint32_t i = 0; i < device->chosen.size(); ++i)
      device->slots[device->chosen[i]] = i + 1;
    device->cells.resize((device->chosen.size() + 1) * parts_.size());
    device->at_peak.resize(device->chosen.size() + 1);
  }

  void Add(const AllocationRecord& a, OfDevice& device, std::uint32_t slot) const {
    if (AtPeak(a, device)) device.at_peak[slot] += a.bytes;
    const std::size_t born = parts_.Of(a.birth), died = parts_.Of(a.death);
    if (born == parts_.size()) return;
    Cell* cells = &device.cells[slot * parts_.size()];
    if (!parts_.BeforeAll(a.birth)) {
      cells[born].born += a.bytes;
      ++cells[born].born_blocks;
    }
    // Differences to the part before, which AddRows sums.
    cells[born].alive += a.bytes;
    ++cells[born].alive_blocks;
    if (died == parts_.size()) return;
    cells[died].alive -= a.bytes;
    --cells[died].alive_blocks;
  }

  // Estimates: they count where they were born, and are alive nowhere.
  void AddDrawn() {
    for (const EventId id : SamplingOf(source_.session)->drawn) {
      const DrawnBlock block = DrawnAt(source_.session, id);
      const auto device = devices_.find(block.device);
      const std::size_t part = parts_.Of(id);
      if (device == devices_.end() || part == parts_.size() || parts_.BeforeAll(id)) continue;
      const std::uint32_t site = source_.sites.NumberOf(block.stack);
      const std::vector<std::uint32_t>& slots = device->second.slots;
      const std::uint32_t slot = site < slots.size() ? slots[site] : 0;
      Cell& cell = device->second.cells[slot * parts_.size() + part];
      cell.born += static_cast<std::uint64_t>(block.weight * static_cast<double>(block.bytes));
      cell.born_blocks += static_cast<std::uint64_t>(block.weight);
    }
  }

  void AddRows(int ordinal, const OfDevice& device, std::vector<SiteStepRow>* rows) const {
    for (std::size_t slot = 0; slot < device.at_peak.size(); ++slot) {
      std::uint64_t alive = 0, alive_blocks = 0;
      const std::string site = slot == 0 ? "" : source_.sites.Name(device.chosen[slot - 1]);
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        const Cell& cell = device.cells[slot * parts_.size() + part];
        alive += cell.alive;
        alive_blocks += cell.alive_blocks;
        if (cell.born_blocks == 0 && alive_blocks == 0 && device.at_peak[slot] == 0) continue;
        SiteStepRow row;
        row.device = ordinal;
        row.site = site;
        parts_.SetSteps(part, &row);
        row.born = cell.born;
        row.born_blocks = cell.born_blocks;
        row.alive = alive;
        row.alive_blocks = alive_blocks;
        row.at_peak = device.at_peak[slot];
        rows->push_back(std::move(row));
      }
    }
  }

  const Source& source_;
  const Parts parts_;
  const LeafMemory leaves_;
  std::map<int, OfDevice> devices_;
};

}  // namespace

std::vector<SiteStepRow> SiteStepsOf(const Source& source) { return Collector(source).Rows(); }

}  // namespace memprof::analysis::fleet
