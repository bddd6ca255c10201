// A window with a log of one second, in which the test knows every byte.
#pragma once

#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/timeline_bands.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer::testing {

using analysis::kMiB;
using analysis::Layer;
using analysis::TimeNs;

class TimelineTest : public WindowFixture {
 protected:
  TimelineView* view() { return window_.timeline(); }

  // 40 MiB for the whole second; 20 MiB of another layer from 0.3 s to 0.7 s; two steps, of 0.2 s
  // and 0.8 s; in the second step two nested ranges.
  void OpenPlateaus() {
    analysis::testing::LogBuilder log;
    log.Device(0, 1 << 30);
    log.Thread(1, 77, "trainer");
    log.header().set_start_time_ns(kStart);
    log.SetTime(kStart);
    log.Step(0);
    log.Alloc(Layer::kLinear, 0x10000000, 40 * kMiB);
    log.SetTime(kStart + 200'000'000);
    log.Step(1);
    log.SetTime(kStart + 300'000'000);
    log.RangePush("forward");
    log.SetTime(kStart + 300'001'000);
    log.Alloc(Layer::kManaged, 0x20000000, 20 * kMiB);
    log.SetTime(kStart + 400'000'000);
    log.RangePush("attention");
    log.SetTime(kStart + 500'000'000);
    log.RangePop();
    log.SetTime(kStart + 700'000'000);
    log.Free(0x20000000);
    log.SetTime(kStart + 700'001'000);
    log.RangePop();
    log.SetTime(kStart + 1'000'000'000);
    log.Snapshot("the end");
    OpenLog(log);
    begin_ = window_.selection().bounds().begin;
    window_.selection().SetInstant(begin_);
  }

  int X(double seconds) {
    return static_cast<int>(view()->Scale().X(kStart + static_cast<TimeNs>(seconds * 1e9)));
  }
  int Y(double mib) {
    const QRectF plot = view()->PlotRect();
    return static_cast<int>(ByteScale{view()->AxisMax(), plot.bottom(), plot.height()}.Y(
        mib * static_cast<double>(kMiB)));
  }

  static constexpr TimeNs kStart = 5'000'000'000;
  TimeNs begin_ = 0;
};

}  // namespace memprof::viewer::testing
