// A window on the views of causes: leaks, advice, holes and failures.
#pragma once

#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/views/advice_view.h"
#include "viewer/views/fragmentation_view.h"

namespace memprof::viewer::testing {

using analysis::kMiB;
using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;

class WhyTest : public WindowFixture {
 protected:
  FragmentationView* fragmentation() {
    return static_cast<FragmentationView*>(window_.page(ViewKind::kFragmentation));
  }
  AdviceView* advice() { return static_cast<AdviceView*>(window_.page(ViewKind::kAdvice)); }
  Selection& selection() { return window_.selection(); }
  // Two failures: one followed by success, one final.
  static void FillOomLog(LogBuilder& log) {
    FillDemoLog(log, {.steps = 6, .capacity = 600 * kMiB});
    const int site = log.Stack({"main (train.cc:210)", "Big (big.cc:5)"});
    const auto fail = [&](std::uint64_t bytes) {
      log.AllocFailed(
          Layer::kLinear, bytes,
          {.stack = site, .aux0 = 2 * kMiB, .aux1 = 600 * kMiB, .result = 2, .api = "cuMemAlloc"});
      log.AdvanceTime(1'000'000);
    };
    fail(32 * kMiB);
    log.Alloc(Layer::kLinear, 0x7e0000000000, 32 * kMiB, {.stack = site});
    log.AdvanceTime(1'000'000);
    fail(64 * kMiB);
    log.Event(Op::kFrameworkOom, Layer::kBlock, 0, 60 * kMiB, 0, {.stack = site});
    log.AdvanceTime(1'000'000);
  }
};

}  // namespace memprof::viewer::testing
