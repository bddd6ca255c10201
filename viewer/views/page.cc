// Shared by the pages of views.
#include "viewer/views/page.h"

#include <QLabel>
#include <QVBoxLayout>

#include "viewer/views/theme.h"

namespace memprof::viewer {

QVBoxLayout* PageColumn(QWidget* page) {
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  column->setSpacing(kSpace);
  return column;
}

QLabel* SentenceLabel(QWidget* parent, const QString& text) {
  auto* label = new QLabel(text, parent);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace memprof::viewer
