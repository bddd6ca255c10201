// The window of a fleet: the ranks of a job, from the tables of `memprof fleet map`. The logs of
// ranks open in windows of their own.
#pragma once

#include <QMainWindow>
#include <QString>

#include "viewer/jobs/fleet_grid_maker.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/window/main_window.h"

namespace memprof::viewer {

class FleetView;

class FleetWindow : public QMainWindow {
  Q_OBJECT

 public:
  // `programs`: the folder with memprof; empty = that of the viewer's installation.
  explicit FleetWindow(MainWindow::Settings settings, const QString& programs = {},
                       QWidget* parent = nullptr);
  ~FleetWindow() override;

  void Open(const QString& folder, const FleetChoice& choice = {});
  // Why the last Open() has nothing to show: one line, or "".
  const QString& error() const { return error_; }
  FleetView* view() const { return view_; }
  // Opens the log of a row; beside a typical one's. Null if a log is not on this machine, which the
  // window then says.
  MainWindow* OpenLog(std::size_t row);
  MainWindow* Compare(std::size_t row);

  void WaitUntilSettled();
  // As MainWindow::Export: "" or an error.
  QString Export(const QString& path);

 private:
  void BuildActions();
  void Read(const QString& file);
  void Fail(const QString& why);
  MainWindow* OpenWindow(const QStringList& logs);
  void AskForExport();

  const MainWindow::Settings settings_;
  QString folder_, error_;
  FleetChoice choice_;
  FleetGridMaker* maker_;
  FleetView* view_;
  JobTracker job_;
};

// A window of the folder, shown, that deletes itself.
FleetWindow* OpenFleetWindow(const QString& folder, MainWindow::Settings settings);

}  // namespace memprof::viewer
