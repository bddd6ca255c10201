// Records the demo trainer.
#include "viewer/jobs/demo_recorder.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

namespace memprof::viewer {

QString FolderOfPrograms(const QString& own) {
  const QString above = QDir::cleanPath(own + QStringLiteral("/../../../bin"));
  const auto has = [](const QString& folder) {
    return QFileInfo::exists(folder + QStringLiteral("/memprof"));
  };
  return !has(own) && has(above) ? above : own;
}

DemoRecorder::DemoRecorder(const QString& programs, const QString& folder, QObject* parent)
    : QObject(parent),
      memprof_(programs + QStringLiteral("/memprof")),
      trainer_(programs + QStringLiteral("/demo_trainer")),
      log_(folder + QStringLiteral("/demo.mprof")) {
  process_.setProcessChannelMode(QProcess::MergedChannels);
  connect(&process_, &QProcess::finished, this, &DemoRecorder::Finished);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart && !cancelled_)
      emit Failed(tr("%1 cannot be started: %2").arg(memprof_, process_.errorString()));
  });
}

DemoRecorder::~DemoRecorder() { Cancel(); }

bool DemoRecorder::available() const {
  return QFileInfo(memprof_).isExecutable() && QFileInfo(trainer_).isExecutable();
}

void DemoRecorder::Start() {
  if (running()) return;
  cancelled_ = false;
  const QFileInfo made(log_);
  if (made.exists() && made.lastModified() > QFileInfo(trainer_).lastModified()) {
    emit Recorded(log_);
    return;
  }
  QDir().mkpath(made.absolutePath());
  QFile::remove(log_);
  process_.start(memprof_,
                 {QStringLiteral("run"), QStringLiteral("-o"), log_,
                  QStringLiteral("--sim=memory=2GiB"), QStringLiteral("--"), trainer_,
                  QStringLiteral("--quiet"), QStringLiteral("--steps"), QStringLiteral("40"),
                  QStringLiteral("--layers"), QStringLiteral("2"), QStringLiteral("--dim"),
                  QStringLiteral("64"), QStringLiteral("--leak"), QStringLiteral("history")});
}

void DemoRecorder::Cancel() {
  if (!running()) return;
  cancelled_ = true;
  // memprof run passes it on to the trainer.
  process_.terminate();
  if (!process_.waitForFinished(3000)) {
    process_.kill();
    process_.waitForFinished(3000);
  }
  QFile::remove(log_);
}

void DemoRecorder::Finished(int code, QProcess::ExitStatus status) {
  if (cancelled_) return;
  if (status == QProcess::NormalExit && code == 0 && QFileInfo::exists(log_)) {
    emit Recorded(log_);
    return;
  }
  const QStringList output =
      QString::fromLocal8Bit(process_.readAll()).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  QFile::remove(log_);
  emit Failed(tr("The demo could not be recorded: %1")
                  .arg(output.isEmpty() ? tr("status %1").arg(code) : output.last()));
}

}  // namespace memprof::viewer
