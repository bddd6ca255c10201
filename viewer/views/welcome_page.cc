// The page without a log.
#include "viewer/views/welcome_page.h"

#include <QFileInfo>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include "viewer/geometry/elide.h"
#include "viewer/geometry/units.h"
#include "viewer/models/plain_line.h"
#include "viewer/models/recent.h"
#include "viewer/models/remote_log.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

WelcomePage::WelcomePage(Document* document, QWidget* parent)
    : QWidget(parent), document_(document) {
  auto* outer = new QVBoxLayout(this);
  auto* column = new QVBoxLayout();
  column->setSpacing(2 * kSpace);
  title_ = new QLabel(this);
  QFont big = font();
  big.setPointSizeF(big.pointSizeF() * 2);
  big.setWeight(QFont::DemiBold);
  title_->setFont(big);
  message_ = new QLabel(this);
  message_->setWordWrap(true);
  message_->setTextFormat(Qt::RichText);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  message_->setMinimumWidth(520);
  progress_ = new QProgressBar(this);
  progress_->setRange(0, 100);
  open_ = new QPushButton(tr("Open a log …"), this);
  open_->setDefault(true);
  cancel_ = new QPushButton(tr("Cancel"), this);
  demo_ = new QPushButton(tr("Try the demo"), this);
  demo_->setToolTip(
      tr("Trains a small model with a leak on a stand-in GPU for some seconds, and shows it"));
  demo_->setVisible(false);
  demo_note_ = new QLabel(this);
  demo_note_->setWordWrap(true);
  demo_note_->setVisible(false);
  auto* buttons = new QHBoxLayout();
  buttons->addWidget(open_);
  buttons->addWidget(demo_);
  buttons->addWidget(cancel_);
  buttons->addStretch(1);
  recent_ = new QWidget(this);
  recent_layout_ = new QVBoxLayout(recent_);
  recent_layout_->setContentsMargins(0, kSpace, 0, 0);
  recent_layout_->setSpacing(2);
  column->addWidget(title_);
  column->addWidget(message_);
  column->addWidget(progress_);
  column->addLayout(buttons);
  column->addWidget(demo_note_);
  column->addWidget(recent_);
  auto* center = new QHBoxLayout();
  center->addStretch(1);
  center->addLayout(column);
  center->addStretch(1);
  outer->addStretch(2);
  outer->addLayout(center);
  outer->addStretch(3);
  connect(open_, &QPushButton::clicked, this, &WelcomePage::OpenRequested);
  connect(demo_, &QPushButton::clicked, this, &WelcomePage::DemoRequested);
  connect(cancel_, &QPushButton::clicked, this, &WelcomePage::CancelRequested);
  connect(document_, &Document::StateChanged, this, &WelcomePage::StateChanged);
  connect(document_, &Document::RemoteSaid, this, [this](const QString& line) {
    if (document_->state() != Document::State::kLoading) return;
    if (line.isEmpty())
      message_->setText(ReadingText());
    else
      message_->setText(line.toHtmlEscaped());
  });
  connect(document_, &Document::ProgressChanged, this,
          [this](double share) { progress_->setValue(static_cast<int>(share * 100)); });
  StateChanged();
}

void WelcomePage::OfferDemo(bool offered) { demo_->setVisible(offered); }

void WelcomePage::ShowDemoRunning(bool running, const QString& problem) {
  demo_->setEnabled(!running);
  demo_note_->setVisible(running || !problem.isEmpty());
  demo_note_->setText(running ? tr("Recording a small training run …") : problem);
}

QString WelcomePage::Title() const { return title_->text(); }
QString WelcomePage::Message() const { return message_->text(); }

QString WelcomePage::ReadingText() const {
  return IsRemoteName(document_->opening())
             ? tr("memprof on that machine reads it, by your ssh.")
             : tr("Views fill as soon as the events are in order.");
}

void WelcomePage::StateChanged() {
  const Document::State state = document_->state();
  const bool loading = state == Document::State::kLoading;
  progress_->setVisible(loading);
  progress_->setValue(0);
  cancel_->setVisible(loading);
  open_->setVisible(!loading);
  demo_->setEnabled(!loading);
  recent_->setVisible(!loading && recent_layout_->count() > 0);
  const QString file = QFileInfo(document_->opening()).fileName().toHtmlEscaped();
  switch (state) {
    case Document::State::kLoading:
      title_->setText(tr("Reading %1 …").arg(file));
      message_->setText(ReadingText());
      break;
    case Document::State::kFailed:
      title_->setText(tr("This log cannot be shown"));
      message_->setText(document_->error().toHtmlEscaped());
      break;
    default:
      title_->setText(QStringLiteral("memprof"));
      message_->setText(
          tr("<p>See where the device memory of a GPU program went.</p>"
             "<p>Record a program with <tt>memprof run -- PROGRAM</tt>, then open the "
             "<tt>.mprof</tt> file that it leaves, or drop it here. "
             "Several logs of one job open together. Memory snapshots of PyTorch and logs of RMM "
             "open too.</p>"));
  }
}

void WelcomePage::SetRecent(const QStringList& paths) {
  while (QLayoutItem* item = recent_layout_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  if (!paths.isEmpty()) {
    auto* title = new QLabel(tr("Recent"), recent_);
    title->setFont(StrongFont(font()));
    recent_layout_->addWidget(title);
  }
  // Names may be long, and a stranger's: they must not widen the window.
  constexpr int kWidest = 800;
  const QFontMetrics metrics(font());
  const auto width = [&metrics](const QString& text) -> double {
    return metrics.horizontalAdvance(text);
  };
  for (const QString& path : paths) {
    const QString title = PlainLine(RecentTitle(path), 4000);
    auto* link = new QLabel(QStringLiteral("<a href='open' style='text-decoration:none'>%1</a>")
                                .arg(ElideName(title, kWidest, width).toHtmlEscaped()),
                            recent_);
    link->setFocusPolicy(Qt::StrongFocus);
    link->setTextInteractionFlags(Qt::TextBrowserInteraction);
    connect(link, &QLabel::linkActivated, this, [this, path] { emit LogChosen(path); });
    recent_layout_->addWidget(link);
  }
  StateChanged();
}

}  // namespace memprof::viewer
