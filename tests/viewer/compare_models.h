// Shared by tests of the models of comparisons: logs, and tables as text.
#pragma once

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <memory>
#include <string>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "tests/viewer/demo_log.h"
#include "viewer/models/diff_data.h"

namespace memprof::viewer::testing {

using analysis::Session;

// As one text, for comparison and for messages.
inline std::string Show(const QStringList& lines) {
  return lines.join(QLatin1Char('\n')).toStdString();
}

class CompareModels : public ::testing::Test {
 protected:
  // The demo's log with this number of steps. `stacks` unused stacks come first, so that stacks
  // have other ids.
  std::shared_ptr<const Session> Load(int steps, bool leak = true, int stacks = 0) {
    const QString path = directory_.filePath(QStringLiteral("%1.mprof").arg(loaded_++));
    analysis::testing::LogBuilder log;
    for (int i = 0; i < stacks; ++i) {
      const std::string name = "Unused" + std::to_string(i) + " (unused.cc:1)";
      log.Stack({name, name, name});
    }
    FillDemoLog(log, {.steps = steps, .leak = leak});
    EXPECT_TRUE(log.WriteTo(path.toStdString()).ok());
    auto session = analysis::LoadLogs({path.toStdString()}, {.find_steps = false});
    EXPECT_TRUE(session.ok());
    return *session;
  }
  static DiffSource Source(const std::shared_ptr<const Session>& session) {
    return {session, std::make_shared<analysis::Symbols>(session), nullptr};
  }

  QTemporaryDir directory_;
  int loaded_ = 0;
};

}  // namespace memprof::viewer::testing
