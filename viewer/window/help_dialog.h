// A small window with the keys and mouse gestures.
#pragma once

#include <QString>

class QWidget;

namespace memprof::viewer {

QString HelpHtml();
void ShowHelp(QWidget* parent);

}  // namespace memprof::viewer
