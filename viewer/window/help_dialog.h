// What keys and mouse do, in one small window.
#pragma once

#include <QString>

class QWidget;

namespace memprof::viewer {

QString HelpHtml();
void ShowHelp(QWidget* parent);

}  // namespace memprof::viewer
