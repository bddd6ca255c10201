// Runs memprof fleet grid.
#include "viewer/jobs/fleet_grid_maker.h"

#include <QFile>
#include <QFileInfo>

#include "viewer/jobs/scratch_folder.h"

namespace memprof::viewer {

bool IsFleet(const QString& folder) {
  return QFileInfo(folder + QStringLiteral("/_schema.json")).isFile();
}

FleetGridMaker::FleetGridMaker(const QString& programs, QObject* parent)
    : QObject(parent), memprof_(programs + QStringLiteral("/memprof")) {
  process_.setStandardOutputFile(QProcess::nullDevice());
  connect(&process_, &QProcess::finished, this, &FleetGridMaker::Finished);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart && !cancelled_)
      emit Failed(tr("%1 cannot be started: %2").arg(memprof_, process_.errorString()));
  });
}

FleetGridMaker::~FleetGridMaker() { Cancel(); }

void FleetGridMaker::Start(const QString& folder, const FleetChoice& choice) {
  Cancel();
  cancelled_ = false;
  if (scratch_ == nullptr) scratch_ = MakeScratchFolder();
  if (scratch_ == nullptr) {
    emit Failed(tr("No temporary folder can be made"));
    return;
  }
  const QString file = scratch_->filePath(QStringLiteral("grid"));
  QFile::remove(file);
  QStringList arguments{QStringLiteral("fleet"), QStringLiteral("grid"),
                        QFileInfo(folder).absoluteFilePath(), QStringLiteral("-o"), file};
  if (choice.job) arguments << QStringLiteral("--job=") + *choice.job;
  if (choice.attempt) arguments << QStringLiteral("--attempt=%1").arg(*choice.attempt);
  if (!choice.figure.isEmpty()) arguments << QStringLiteral("--figure=") + choice.figure;
  process_.start(memprof_, arguments);
}

void FleetGridMaker::Cancel() {
  if (!running()) return;
  cancelled_ = true;
  process_.terminate();
  if (!process_.waitForFinished(2000)) {
    process_.kill();
    process_.waitForFinished(2000);
  }
}

void FleetGridMaker::Finished(int code, QProcess::ExitStatus status) {
  if (cancelled_) return;
  if (status == QProcess::NormalExit && code == 0) {
    emit Made(scratch_->filePath(QStringLiteral("grid")));
    return;
  }
  const QStringList lines = QString::fromLocal8Bit(process_.readAllStandardError())
                                .split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  emit Failed(!lines.isEmpty() ? lines.last()
              : status == QProcess::CrashExit
                  ? tr("%1 fleet grid was ended by a signal").arg(memprof_)
                  : tr("%1 fleet grid ended with status %2").arg(memprof_).arg(code));
}

}  // namespace memprof::viewer
