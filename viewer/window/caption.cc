// Texts and paints captions.
#include "viewer/window/caption.h"

#include <QApplication>
#include <QFileInfo>
#include <QPainter>
#include <QWidget>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

using analysis::TimeNs;

QString NameOfLogs(const Document& document) {
  const QString name = QFileInfo(document.path()).fileName();
  const std::size_t processes = document.session()->processes().size();
  return processes > 1 ? Tr("%1 (%2 processes)").arg(name).arg(processes) : name;
}

QRect TextArea(const QWidget& widget, const QString& caption) {
  const QRect room(2 * kSpace, widget.height() + kSpace, widget.width() - 4 * kSpace, 100000);
  return QFontMetrics(SmallFont(widget.font()))
      .boundingRect(room, Qt::AlignLeft | Qt::TextWordWrap, caption);
}

}  // namespace

QString CaptionOf(const Document& document, const Selection& selection,
                  const QStringList& conditions) {
  if (document.session() == nullptr) return {};
  const TimeNs begin = document.bounds().begin;
  // Digits as of a plot that is a thousand pixels wide.
  const analysis::TimeWindow window = selection.window();
  const TimeNs digits = std::max<TimeNs>(1, (window.end - window.begin) / 1000);
  const auto instant = [&](TimeNs time) {
    return FormatInstant(time - std::min(time, begin), digits);
  };
  QStringList parts = {NameOfLogs(document)};
  parts << (selection.device() == analysis::kNoDevice ? Tr("host memory")
                                                      : Tr("device %1").arg(selection.device()));
  const std::int64_t step = document.session()->StepAt(selection.instant());
  const QString at = Tr("at %1").arg(instant(selection.instant()));
  parts << (step < 0 ? at : Tr("%1, step %2").arg(at).arg(step));
  const analysis::TimeWindow all = selection.bounds();
  if (window.begin != all.begin || window.end != all.end)
    parts << Tr("from %1 to %2").arg(instant(window.begin), instant(window.end));
  if (!conditions.isEmpty()) parts << Tr("only: %1").arg(conditions.join(QStringLiteral(", ")));
  parts << QStringLiteral("memprof %1").arg(QApplication::applicationVersion());
  return parts.join(QStringLiteral("  ·  ")).simplified();
}

int CaptionHeight(const QWidget& widget, const QString& caption) {
  return caption.isEmpty() ? 0 : TextArea(widget, caption).height() + 2 * kSpace;
}

void PaintCaption(QPainter* painter, const QWidget& widget, const QString& caption) {
  const Theme theme = Theme::From(widget.palette());
  painter->fillRect(QRect(0, widget.height(), widget.width(), CaptionHeight(widget, caption)),
                    theme.window);
  painter->setFont(SmallFont(widget.font()));
  painter->setPen(theme.muted);
  painter->drawText(TextArea(widget, caption), Qt::AlignLeft | Qt::TextWordWrap, caption);
}

QPixmap GrabWithCaption(QWidget* widget, const QString& caption) {
  const QPixmap alone = widget->grab();
  if (caption.isEmpty()) return alone;
  const double ratio = alone.devicePixelRatio();
  const QSize size(widget->width(), widget->height() + CaptionHeight(*widget, caption));
  QPixmap both(size * ratio);
  both.setDevicePixelRatio(ratio);
  QPainter painter(&both);
  painter.drawPixmap(0, 0, alone);
  PaintCaption(&painter, *widget, caption);
  return both;
}

}  // namespace memprof::viewer
