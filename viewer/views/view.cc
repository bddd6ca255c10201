// A view refreshes when it is seen.
#include "viewer/views/view.h"

#include <QLocale>
#include <QShowEvent>

namespace memprof::viewer {

View::View(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
}

bool View::WriteCsv(QTextStream*) const { return false; }

void View::Invalidate() {
  stale_ = true;
  if (!isVisible()) return;
  stale_ = false;
  Refresh();
}

void View::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!stale_) return;
  stale_ = false;
  Refresh();
}

void View::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  // Texts have the colours of the theme in which they were made, rows the height of the style.
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) Invalidate();
}

QString CsvField(const QString& text) {
  static const QString kSpecial = QStringLiteral(",\"\n\r");
  bool quoted = false;
  for (const QChar c : text) quoted |= kSpecial.contains(c);
  if (!quoted) return text;
  QString doubled = text;
  doubled.replace(QLatin1Char('"'), QStringLiteral("\"\""));
  return QLatin1Char('"') + doubled + QLatin1Char('"');
}

QString CsvNumber(double value) {
  return QString::number(value, 'f', QLocale::FloatingPointShortest);
}

}  // namespace memprof::viewer
