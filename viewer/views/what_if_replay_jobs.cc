// The same requests with other allocators: computing, off the GUI thread.
#include <QProgressBar>
#include <algorithm>
#include <utility>

#include "analysis/base/quantity.h"
#include "analysis/base/status_text.h"
#include "viewer/geometry/units.h"
#include "viewer/views/what_if_curves.h"
#include "viewer/views/what_if_replay.h"

namespace memprof::viewer {
namespace {

using analysis::DeviceReplay;
using analysis::allocators::AllocatorSpec;
using analysis::allocators::kUnlimited;

// Limits of the search for an arrangement with all requests known: its time, and the number of
// requests.
constexpr double kPlacementSeconds = 1;
constexpr std::uint64_t kPlacementRequests = 100'000;

QString Message(const absl::Status& status) { return ToQString(analysis::StatusText(status)); }

// Whether both are the same device of the same process.
template <typename Other>
bool Same(const WhatIfDevice& a, const Other& b) {
  return a.device == b.device && a.process == b.process;
}

}  // namespace

QString WhatIfReplay::AddConfiguration(const QString& text) {
  const auto spec = analysis::allocators::ParseSpec(text.trimmed().toStdString());
  if (!spec.ok()) return Message(spec.status());
  if (std::find(own_.begin(), own_.end(), *spec) == own_.end()) own_.push_back(*spec);
  if (!job_.running()) StartOwn();
  return {};
}

QString WhatIfReplay::SetCapacity(const QString& text) {
  std::uint64_t capacity = 0;
  if (!text.trimmed().isEmpty()) {
    const auto bytes = analysis::ParseSize(text.toStdString());
    if (!bytes.ok()) return Message(bytes.status());
    if (*bytes == 0) return tr("the capacity must be larger than 0");
    capacity = *bytes;
  }
  if (capacity == capacity_) return {};
  capacity_ = capacity;
  of_.reset();
  Invalidate();
  return {};
}

void WhatIfReplay::Refresh() {
  if (document_->session() == of_) return;
  const bool grew = document_->grew() && of_ != nullptr;
  // For a log that grows, the running job is completed and shown first.
  if (grew && job_.running()) return;
  job_.Cancel();
  of_ = document_->session();
  complete_ = cancelled_ = false;
  if (!grew) {
    devices_.clear();
    ticked_ = false;
    model_->SetDevice({});
    curves_->SetCurves({}, kUnlimited);
  }
  if (of_ != nullptr) Start();
  ShowState();
}

void WhatIfReplay::Start() {
  const int generation = ++generation_;
  auto found = std::make_shared<Found>();
  progress_->setValue(0);
  const auto look = job_.Reporter([this, generation, found](double share) {
    if (generation != generation_ || !job_.running()) return;
    progress_->setValue(static_cast<int>(share * 1000));
    const std::lock_guard lock(found->mutex);
    if (std::exchange(found->news, false)) Show(found->devices);
  });
  job_.Start(
      [session = of_, found, look, capacity = capacity_](std::stop_token stop) {
        analysis::ReplayOptions options;
        options.capacity = capacity;
        options.placement_seconds = kPlacementSeconds;
        options.placement_requests = kPlacementRequests;
        options.over_time = true;
        options.stop = stop;
        auto reported = std::make_shared<double>(0);
        options.progress = [look, reported](double share) {
          if (share < *reported + 0.005) return;
          *reported = share;
          look(share);
        };
        options.so_far = [&](const DeviceReplay& replay) {
          WhatIfDevice device = DescribeReplay(*session, replay, false);
          const std::lock_guard lock(found->mutex);
          const auto same = std::find_if(found->devices.begin(), found->devices.end(),
                                         [&](const auto& d) { return Same(d, device); });
          if (same == found->devices.end()) {
            found->devices.push_back(std::move(device));
          } else {
            *same = std::move(device);
          }
          found->news = true;
          look(*reported);
        };
        Devices devices;
        for (const DeviceReplay& replay : analysis::ReplayAllocators(*session, options))
          devices.push_back(DescribeReplay(*session, replay, true));
        return devices;
      },
      [this](Devices devices) {
        complete_ = true;
        Show(std::move(devices));
        StartOwn();
        ShowState();
        if (!job_.running() && document_->session() != of_) Invalidate();
      });
}

void WhatIfReplay::StartOwn() {
  if (!complete_ || of_ == nullptr || devices_.empty()) return;
  analysis::ReplayOptions options;
  for (const AllocatorSpec& spec : own_) {
    const QString name = ToQString(analysis::allocators::SpecName(spec));
    const auto& rows = devices_.front().rows;
    if (std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; }))
      options.others.push_back(spec);
  }
  if (options.others.empty()) return;
  ++generation_;
  const int generation = generation_;
  const auto look = job_.Reporter([this, generation](double share) {
    if (generation == generation_) progress_->setValue(static_cast<int>(share * 1000));
  });
  options.capacity = capacity_;
  options.placement_seconds = 0;
  options.over_time = true;
  job_.Start(
      [session = of_, options, look](std::stop_token stop) mutable {
        // The recorded allocator was identified before, so it is not determined again.
        const AllocatorSpec any;
        options.recorded = &any;
        options.stop = stop;
        options.progress = [look, reported = 0.0](double share) mutable {
          if (share < reported + 0.005) return;
          reported = share;
          look(share);
        };
        return analysis::ReplayAllocators(*session, options);
      },
      [this](std::vector<DeviceReplay> replays) {
        for (const DeviceReplay& replay : replays)
          for (WhatIfDevice& device : devices_)
            if (Same(device, replay)) AddOwn(replay, &device);
        Show(std::move(devices_));
        // Selects the configuration that was added last.
        for (int row = 0; row < model_->rowCount(); ++row)
          if (model_->row(row).own && !model_->Drawn(row)) model_->SetDrawn(row, true);
        StartOwn();
        ShowState();
      });
  ShowState();
}

void WhatIfReplay::Cancel() {
  ++generation_;
  job_.Cancel();
  cancelled_ = !complete_;
  ShowState();
}

}  // namespace memprof::viewer
