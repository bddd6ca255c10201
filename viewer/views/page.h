// Shared by the pages of views.
#pragma once

#include <QString>

class QLabel;
class QVBoxLayout;
class QWidget;

namespace memprof::viewer {

// The layout column of a page, with the common margins.
QVBoxLayout* PageColumn(QWidget* page);
// A label for sentences, which wrap and can be selected and copied.
QLabel* SentenceLabel(QWidget* parent, const QString& text = {});

}  // namespace memprof::viewer
