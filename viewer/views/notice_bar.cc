// The line with what the viewer has to say.
#include "viewer/views/notice_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "viewer/views/theme.h"

namespace memprof::viewer {

NoticeBar::NoticeBar(QWidget* parent) : QWidget(parent) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(2 * kSpace, kSpace / 2, 2 * kSpace, kSpace / 2);
  label_ = new QLabel(this);
  // Texts may come from logs and links.
  label_->setTextFormat(Qt::PlainText);
  label_->setWordWrap(true);
  label_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* close = new QToolButton(this);
  close->setText(QStringLiteral("×"));
  close->setToolTip(tr("Close this line"));
  close->setAutoRaise(true);
  row->addWidget(label_, 1);
  row->addWidget(close);
  hide_.setSingleShot(true);
  hide_.setInterval(5000);
  connect(&hide_, &QTimer::timeout, this, &QWidget::hide);
  connect(close, &QToolButton::clicked, this, &QWidget::hide);
  hide();
}

void NoticeBar::Show(const QString& text) {
  hide_.stop();
  label_->setText(text);
  setVisible(!text.isEmpty());
}

void NoticeBar::Warn(const QString& text) { Show(text); }

void NoticeBar::Tell(const QString& text) {
  Show(text);
  hide_.start();
}

QString NoticeBar::text() const { return isHidden() ? QString() : label_->text(); }

}  // namespace memprof::viewer
