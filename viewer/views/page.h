// What the pages of views are made of.
#pragma once

#include <QString>

class QLabel;
class QVBoxLayout;
class QWidget;

namespace memprof::viewer {

// The column that a page is laid out in, with the margins that all pages have.
QVBoxLayout* PageColumn(QWidget* page);
// A label for sentences: they wrap, and can be selected and copied.
QLabel* SentenceLabel(QWidget* parent, const QString& text = {});

}  // namespace memprof::viewer
