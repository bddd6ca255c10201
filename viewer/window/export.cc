// Writes what the window shows: pictures and tables.
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QMessageBox>
#include <QPixmap>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QTextStream>

#include "viewer/views/view.h"
#include "viewer/window/main_window.h"

namespace memprof::viewer {
namespace {

QString CannotWrite(const QString& path) {
  return MainWindow::tr("%1 cannot be written. Choose a folder that you may write to.").arg(path);
}

bool WriteSvg(QWidget* widget, QIODevice* device) {
  QSvgGenerator generator;
  generator.setOutputDevice(device);
  generator.setSize(widget->size());
  generator.setViewBox(widget->rect());
  generator.setTitle(QStringLiteral("memprof"));
  widget->render(&generator);
  return true;
}

}  // namespace

QString MainWindow::Export(const QString& path) {
  QWidget* shown = FrontPage();
  // A file of that name stays what it was unless all of the new one could be written.
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return CannotWrite(path);
  bool written = false;
  if (path.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive)) {
    QTextStream out(&file);
    const auto* view = qobject_cast<const View*>(shown);
    if (view == nullptr || !view->WriteCsv(&out))
      return tr("This view has no rows to export: choose a name that ends in .png or .svg.");
    out.flush();
    written = out.status() == QTextStream::Ok;
  } else if (path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) {
    written = WriteSvg(shown, &file);
  } else if (path.endsWith(QLatin1String(".png"), Qt::CaseInsensitive)) {
    written = shown->grab().save(&file, "PNG");
  } else {
    return tr("The name must end in .png, .svg or .csv, which selects the format.");
  }
  return written && file.commit() ? QString() : CannotWrite(path);
}

void MainWindow::AskForExport() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export the view"), QStringLiteral("memprof.png"),
                                   tr("Picture (*.png);;Drawing (*.svg);;Table (*.csv)"));
  if (path.isEmpty()) return;
  const QString problem = Export(path);
  if (!problem.isEmpty()) QMessageBox::warning(this, tr("Not exported"), problem);
}

void MainWindow::CopyPicture() { QApplication::clipboard()->setPixmap(FrontPage()->grab()); }

}  // namespace memprof::viewer
