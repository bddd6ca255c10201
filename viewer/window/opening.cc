// What the user opens: dialogs and drops.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QLineEdit>
#include <QMessageBox>

#include "viewer/models/dropped_logs.h"
#include "viewer/models/remote_log.h"
#include "viewer/window/main_window.h"

namespace memprof::viewer {
void MainWindow::AskForLog() {
  const QStringList paths = QFileDialog::getOpenFileNames(
      this, tr("Open a log, or several of one job"), QFileInfo(document_->path()).absolutePath(),
      tr("Logs and snapshots (*.mprof *.pickle *.pkl *.csv);;All files (*)"));
  if (!paths.isEmpty()) OpenTogether(paths);
}

void MainWindow::AskForFleet() {
  const QString folder =
      QFileDialog::getExistingDirectory(this, tr("Open a fleet: a folder of its tables"));
  if (!folder.isEmpty()) OpenTogether({folder});
}

void MainWindow::AskForRemoteLog() {
  const QString last = document_->path();
  const QString name =
      QInputDialog::getText(this, tr("Open from another machine"),
                            tr("The log, as ssh://[user@]host[:port]/path or user@host:path.\n"
                               "memprof on that machine reads it, by your own ssh."),
                            QLineEdit::Normal, IsRemoteName(last) ? last : QStringLiteral("ssh://"))
          .trimmed();
  if (name.isEmpty()) return;
  // What is written here is never a file of this machine.
  QString problem;
  if (ParseRemoteLog(name, &problem))
    OpenTogether({name});
  else if (IsRemoteName(name))
    QMessageBox::warning(this, tr("Not opened"), problem);
  else
    QMessageBox::warning(this, tr("Not opened"), tr("%1 names no machine").arg(name));
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!DroppedLogs(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QStringList logs = DroppedLogs(*event->mimeData());
  if (logs.isEmpty()) return;
  event->acceptProposedAction();
  OpenTogether(logs);
}

}  // namespace memprof::viewer
