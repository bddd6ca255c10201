// A window with comparisons.
#pragma once

#include <gtest/gtest.h>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/what_if_gone.h"
#include "viewer/views/what_if_replay.h"
#include "viewer/views/what_if_view.h"

namespace memprof::viewer::testing {

class CompareTest : public WindowFixture {
 protected:
  WhatIfView* what_if() { return static_cast<WhatIfView*>(window_.page(ViewKind::kWhatIf)); }
  WhatIfReplay* replay() { return what_if()->replay(); }
  WhatIfGone* gone() { return what_if()->gone(); }
  DiffView* diff() { return static_cast<DiffView*>(window_.page(ViewKind::kDiff)); }

  // Opens another log of the demo.
  QString Other(const DemoOptions& options) {
    analysis::testing::LogBuilder log;
    FillDemoLog(log, options);
    const QString path = directory_.filePath(QStringLiteral("other.mprof"));
    EXPECT_TRUE(log.WriteTo(path.toStdString()).ok());
    return path;
  }
  static int RowOf(const WhatIfModel& model, const QString& name) {
    for (int row = 0; row < model.rowCount(); ++row)
      if (model.row(row).name == name) return row;
    return -1;
  }
};

}  // namespace memprof::viewer::testing
