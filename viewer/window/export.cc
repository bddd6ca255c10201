// Writes what the window shows: pictures and tables.
#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QMessageBox>
#include <QPainter>
#include <QPixmap>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QTextStream>

#include "viewer/geometry/units.h"
#include "viewer/views/filter_bar.h"
#include "viewer/views/view.h"
#include "viewer/window/caption.h"
#include "viewer/window/main_window.h"

namespace memprof::viewer {
namespace {

QString CannotWrite(const QString& path) {
  return MainWindow::tr("%1 cannot be written. Choose a folder that you may write to.").arg(path);
}

bool WriteSvg(QWidget* widget, const QString& caption, QIODevice* device) {
  const QSize size(widget->width(), widget->height() + CaptionHeight(*widget, caption));
  QSvgGenerator generator;
  generator.setOutputDevice(device);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(), size));
  generator.setTitle(QStringLiteral("memprof"));
  QPainter painter(&generator);
  widget->render(&painter);
  if (!caption.isEmpty()) PaintCaption(&painter, *widget, caption);
  return true;
}

}  // namespace

QString MainWindow::Export(const QString& path) {
  QWidget* shown = FrontPage();
  const QString caption = captions_->isChecked() ? Caption() : QString();
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
    written = WriteSvg(shown, caption, &file);
  } else if (path.endsWith(QLatin1String(".png"), Qt::CaseInsensitive)) {
    written = GrabWithCaption(shown, caption).save(&file, "PNG");
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

void MainWindow::CopyPicture() {
  QApplication::clipboard()->setPixmap(
      GrabWithCaption(FrontPage(), captions_->isChecked() ? Caption() : QString()));
}

QString MainWindow::Caption() const {
  QStringList conditions = filter_bar_->Conditions();
  if (const QString text = ToQString(selection_->filter().text); !text.isEmpty())
    conditions.prepend(QStringLiteral("'%1'").arg(text));
  return CaptionOf(*document_, *selection_, conditions);
}

}  // namespace memprof::viewer
