// main() of the viewer's tests: a QApplication around GoogleTest, by default without a display.
#include <gtest/gtest.h>

#include <QApplication>
#include <QStandardPaths>

#include "viewer/jobs/job_tracker.h"
#include "viewer/views/table_setup.h"

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);  // never uses the user's own settings
  ::testing::InitGoogleTest(&argc, argv);
  QApplication application(argc, argv);
  QApplication::setStyle(memprof::viewer::MakeStyle());
  const int status = RUN_ALL_TESTS();
  memprof::viewer::JobTracker::WaitForAll();
  return status;
}
