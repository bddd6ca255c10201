// A line under an exported picture that says what it shows.
#pragma once

#include <QPixmap>
#include <QString>
#include <QStringList>

#include "viewer/models/document.h"
#include "viewer/models/selection.h"

class QPainter;
class QWidget;

namespace memprof::viewer {

// "train.mprof · device 0 · at 12.3 s, step 39 · from 10.0 s to 20.0 s · only: … · memprof 0.2";
// "" without a log. `conditions`: those of the filter.
QString CaptionOf(const Document& document, const Selection& selection,
                  const QStringList& conditions);

// Of a caption below a picture of `widget`, in its font and its theme's colours.
int CaptionHeight(const QWidget& widget, const QString& caption);
void PaintCaption(QPainter* painter, const QWidget& widget, const QString& caption);
// The widget's picture, with the caption below; alone if the caption is "".
QPixmap GrabWithCaption(QWidget* widget, const QString& caption);

}  // namespace memprof::viewer
