// Records the demo trainer with the programs that lie beside the viewer, so that there is a log to
// try: a small training on the stand-in CUDA, with a leak. Takes a few seconds and needs no GPU.
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>

namespace memprof::viewer {

class DemoRecorder : public QObject {
  Q_OBJECT

 public:
  // `programs`: the folder with memprof and demo_trainer. `folder`: where the log is kept.
  DemoRecorder(const QString& programs, const QString& folder, QObject* parent = nullptr);
  ~DemoRecorder() override;

  // Both programs are there.
  bool available() const;
  bool running() const { return process_.state() != QProcess::NotRunning; }
  QString log() const { return log_; }

  // Ends with Recorded or Failed: at once where a log of this trainer is there already.
  void Start();
  // Ends the recording without a word.
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
