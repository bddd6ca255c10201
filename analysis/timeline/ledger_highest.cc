// When most of a device was used: samples are rare, but the known memory is exact at every event.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "analysis/store/lifetime_walk.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/pool_changes.h"

namespace memprof::analysis {
namespace {

constexpr std::uint64_t kFewPages = 16;
constexpr std::uint64_t kSmallUnit = 512;

constexpr std::uint64_t Up(std::uint64_t bytes, std::uint64_t unit) {
  return bytes > ~std::uint64_t{0} - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

// The bytes of the pages of a device that contain allocations. Arrays have no addresses: small ones
// are assumed to be adjacent.
class Pages {
 public:
  void Add(const AllocationRecord& a) { Change(a, true); }
  void Remove(const AllocationRecord& a) { Change(a, false); }
  std::uint64_t bytes() const { return whole_ + shared_.size() * kPage + Up(arrays_, kPage); }

 private:
  void Change(const AllocationRecord& a, bool born) {
    if (a.layer == Layer::kArray && a.bytes < kPage) {
      const std::uint64_t bytes = Up(a.bytes, kSmallUnit);
      arrays_ = born ? arrays_ + bytes : arrays_ - bytes;
    } else if ((a.layer == Layer::kLinear || a.layer == Layer::kPitched) && a.bytes < kPage) {
      const std::uint64_t last =
          EndAddress(a.address, std::max<std::uint64_t>(a.bytes, 1) - 1) / kPage;
      for (std::uint64_t page = a.address / kPage; page <= last; ++page) {
        if (born) {
          ++shared_[page];
        } else if (const auto at = shared_.find(page); at != shared_.end() && --at->second == 0) {
          shared_.erase(at);
        }
      }
    } else {
      const bool paged =
          a.layer == Layer::kLinear || a.layer == Layer::kPitched || a.layer == Layer::kArray;
      const std::uint64_t bytes = paged ? Up(a.bytes, kPage) : a.bytes;
      whole_ = born ? whole_ + bytes : whole_ - bytes;
    }
  }

  std::uint64_t whole_ = 0, arrays_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> shared_;  // allocations, by page
};

// Walks a device's memory from sample to sample.
class HighestFinder {
 public:
  HighestFinder(const Session& session, const std::vector<MemorySample>& samples, int device)
      : session_(session),
        samples_(samples),
        device_(device),
        in_pages_(samples.front().total_bytes >= kFewPages * kPage),
        pools_(PoolsOf(session)),
        beyond_(pools_->Of(device)) {}

  void Birth(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (!Counts(a)) return;
    known_ += a.bytes;
    if (in_pages_) pages_.Add(a);
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (!Counts(a)) return;
    known_ -= a.bytes;
    if (in_pages_) pages_.Remove(a);
  }
  void After(EventId event) {
    const std::uint64_t held = (in_pages_ ? pages_.bytes() : known_) + beyond_.After(event);
    if (held > most_) {
      most_ = held;
      time_ = session_.events().time(event.value);
    }
    if (next_ == samples_.size() || samples_[next_].event != event) return;
    const MemorySample& sample = samples_[next_];
    const std::int64_t outside = Signed(sample.used_bytes()) - Signed(held);
    Close(next_ == 0 ? outside : std::min(outside, outside_));
    Consider(sample.used_bytes(), sample.time, sample);
    outside_ = outside;
    ++next_;
    most_ = held;
    time_ = sample.time;
  }
  HighestUse Finish() {
    if (next_ > 0) Close(outside_);
    return highest_;
  }

 private:
  // The location of managed memory is not known: it is part of what samples show beyond the rest.
  bool Counts(const AllocationRecord& a) const {
    return a.device == device_ && a.layer != Layer::kManaged &&
           (OccupiesDevice(a.layer) || a.layer == Layer::kModule);
  }
  static std::int64_t Signed(std::uint64_t bytes) {
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(bytes, std::numeric_limits<std::int64_t>::max() / 4));
  }
  // Ends the time that began with the sample before.
  void Close(std::int64_t outside) {
    if (most_ == 0) return;
    const MemorySample& sample = samples_[next_ == 0 ? 0 : next_ - 1];
    const std::int64_t used = std::max<std::int64_t>(Signed(most_) + outside, 0);
    Consider(std::min(static_cast<std::uint64_t>(used), sample.total_bytes), time_, sample);
  }
  void Consider(std::uint64_t bytes, TimeNs time, const MemorySample& sample) {
    if (highest_.known && bytes <= highest_.bytes) return;
    highest_ = {.known = true, .time = time, .bytes = bytes, .sample = &sample};
  }

  const Session& session_;
  const std::vector<MemorySample>& samples_;
  const int device_;
  const bool in_pages_;
  const std::shared_ptr<const DevicePools> pools_;
  PoolCursor beyond_;
  Pages pages_;
  std::uint64_t known_ = 0;
  std::size_t next_ = 0;      // sample
  std::int64_t outside_ = 0;  // at the sample before
  std::uint64_t most_ = 0;    // since then
  TimeNs time_ = 0;
  HighestUse highest_;
};

}  // namespace

HighestUse FindHighestUse(const Session& session, const std::vector<MemorySample>& samples,
                          int device) {
  if (samples.empty()) return {};
  HighestFinder finder(session, samples, device);
  WalkLifetimes(session, finder);
  return finder.Finish();
}

}  // namespace memprof::analysis
