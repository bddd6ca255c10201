// Records the demo trainer with the programs in the viewer's folder, to get a log to try: a small
// training on the stand-in CUDA, with a leak. Takes a few seconds and needs no GPU.
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>

namespace memprof::viewer {

// The folder with memprof and demo_trainer, for a viewer in the folder `own`: that folder or, of a
// viewer that brings its libraries along (PREFIX/lib/memprof/viewer), PREFIX/bin.
QString FolderOfPrograms(const QString& own);

class DemoRecorder : public QObject {
  Q_OBJECT

 public:
  // `programs`: the folder with memprof and demo_trainer. `folder`: where the log is kept.
  DemoRecorder(const QString& programs, const QString& folder, QObject* parent = nullptr);
  ~DemoRecorder() override;

  // Whether both programs exist.
  bool available() const;
  bool running() const { return process_.state() != QProcess::NotRunning; }
  QString log() const { return log_; }

  // Ends with Recorded or Failed; at once if there is already a log of this trainer.
  void Start();
  // Stops the recording without a signal.
  void Cancel();

 signals:
  void Recorded(const QString& log);
  void Failed(const QString& why);  // one line

 private:
  void Finished(int code, QProcess::ExitStatus status);

  const QString memprof_, trainer_, log_;
  QProcess process_;
  bool cancelled_ = false;
};

}  // namespace memprof::viewer
