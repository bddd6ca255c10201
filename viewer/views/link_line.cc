// A sentence with links.
#include "viewer/views/link_line.h"

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QKeyEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "viewer/geometry/elide.h"
#include "viewer/geometry/line_fit.h"
#include "viewer/views/add_action.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

constexpr int kRing = 3;  // around a link, for the focus

// Where the end is left out.
const QString& Dots() {
  static const QString dots = QStringLiteral("…");
  return dots;
}

QColor ToneColor(VerdictTone tone, const Theme& theme) {
  switch (tone) {
    case VerdictTone::kBad:
      return theme.danger;
    case VerdictTone::kWarning:
      return theme.warning;
    case VerdictTone::kGood:
      return theme.good;
    case VerdictTone::kPlain:
      break;
  }
  return theme.muted;
}

}  // namespace

class LinkButton : public QAbstractButton {
 public:
  explicit LinkButton(QWidget* parent) : QAbstractButton(parent) {
    setCursor(Qt::PointingHandCursor);
    setFocusPolicy(Qt::StrongFocus);
  }

  void SetShown(const QString& text) {
    shown_ = text;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const Theme theme = Theme::From(palette());
    QFont underlined = font();
    underlined.setUnderline(true);
    painter.setFont(underlined);
    painter.setPen(theme.accent);
    painter.drawText(rect().adjusted(kRing, 0, 0, 0),
                     Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, shown_);
    if (!hasFocus()) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.accent, 2));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 3, 3);
  }
  // A button takes Space alone; a link is followed with Enter.
  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
      click();
    else
      QAbstractButton::keyPressEvent(event);
  }

 private:
  QString shown_;
};

LinkLine::LinkLine(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(AddAction(this, tr("Copy")), &QAction::triggered, this,
          [this] { QApplication::clipboard()->setText(Text().simplified()); });
}
LinkLine::~LinkLine() = default;

void LinkLine::Show(std::vector<VerdictPart> parts, std::optional<VerdictTone> tone) {
  // A link that has the focus keeps it, where the sentence has as many parts as before.
  const auto focused = std::find_if(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.button != nullptr && piece.button->hasFocus();
  });
  const auto had = static_cast<std::size_t>(focused - pieces_.begin());
  std::vector<Piece> before = std::exchange(pieces_, {});
  tone_ = tone;
  for (VerdictPart& part : parts) {
    Piece piece;
    piece.part = std::move(part);
    if (piece.part.target.has_value()) {
      piece.button = new LinkButton(this);
      piece.button->setText(piece.part.text);
      piece.button->setAccessibleName(piece.part.text);
      piece.button->setAccessibleDescription(piece.part.help);
      piece.button->setToolTip(piece.part.help.toHtmlEscaped());
      connect(piece.button, &QAbstractButton::clicked, this,
              [this, target = *piece.part.target] { emit Followed(target); });
    }
    pieces_.push_back(std::move(piece));
  }
  setAccessibleName(Text().simplified());
  Arrange();
  if (had < before.size() && had < pieces_.size() && pieces_[had].button != nullptr)
    pieces_[had].button->setFocus();
  for (const Piece& piece : before)
    if (piece.button != nullptr) piece.button->deleteLater();
  for (const Piece& piece : before)
    if (piece.button != nullptr) piece.button->hide();
  updateGeometry();
  update();
}

QFont LinkLine::FontOf(std::size_t piece) const {
  return piece == 0 && tone_.has_value() ? StrongFont(font()) : font();
}

double LinkLine::MarkWidth() const { return tone_.has_value() ? fontMetrics().ascent() + 6.0 : 0; }

void LinkLine::Arrange() {
  const double least = 16.0 * fontMetrics().averageCharWidth();
  std::vector<LinePiece> wanted;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const double width = std::ceil(TextWidth(FontOf(i), pieces_[i].part.text));
    wanted.push_back(
        {width, pieces_[i].part.name ? std::min(width, least) : width, pieces_[i].part.group});
  }
  const double room = width() - MarkWidth() - 2 * kRing, dots = TextWidth(font(), Dots());
  std::vector<double> widths = FitLine(wanted, room);
  // What is left out as a group leaves a sentence; what is cut does not.
  const bool whole = std::accumulate(widths.begin(), widths.end(), 0.0) <= room;
  if (!whole) widths = FitLine(wanted, room - dots);
  QStringList names;
  double cap = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!pieces_[i].part.name || widths[i] <= 0) continue;
    names << pieces_[i].part.text;
    cap = std::max(cap, widths[i]);
  }
  names = ElideApart(names, cap, [this](const QString& text) { return TextWidth(font(), text); });
  double x = MarkWidth() + kRing;
  const double end = x + room - (whole ? 0 : dots);
  bool full = false;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    piece.left = x;
    piece.width = widths[i];
    piece.shown = piece.part.name && widths[i] > 0 ? names.takeFirst() : piece.part.text;
    if (widths[i] > 0 && piece.part.name)
      piece.width = std::min(widths[i], std::ceil(TextWidth(font(), piece.shown)));
    if (full) piece.width = 0;
    if (!whole && x + piece.width > end) {  // not even the least of it fits
      full = true;
      piece.shown = QFontMetricsF(FontOf(i)).elidedText(piece.shown, Qt::ElideRight, end - x);
      if (piece.shown.endsWith(Dots())) piece.shown.chop(Dots().size());
      piece.width = std::ceil(TextWidth(FontOf(i), piece.shown));
    }
    x += piece.width;
    if (piece.button == nullptr) continue;
    piece.button->SetShown(piece.shown);
    piece.button->setGeometry(static_cast<int>(piece.left) - kRing, 0,
                              static_cast<int>(piece.width) + 2 * kRing, height());
    piece.button->setVisible(piece.width > 0);
  }
  dots_at_ = whole ? -1 : x;
}

QString LinkLine::Text() const {
  QString text;
  for (const Piece& piece : pieces_) text += piece.part.text;
  return text;
}

QString LinkLine::ShownText() const {
  QString text;
  for (const Piece& piece : pieces_)
    if (piece.width > 0) text += piece.shown;
  return dots_at_ < 0 ? text : text + Dots();
}

bool LinkLine::Follow(const QString& text) {
  for (const Piece& piece : pieces_) {
    if (piece.button == nullptr || piece.part.text != text) continue;
    piece.button->click();
    return true;
  }
  return false;
}

QSize LinkLine::sizeHint() const {
  double width = MarkWidth() + 2 * kRing;
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    width += std::ceil(TextWidth(FontOf(i), pieces_[i].part.text));
  return {static_cast<int>(width), fontMetrics().height() + 2 * kRing};
}

QSize LinkLine::minimumSizeHint() const { return {40, sizeHint().height()}; }

// A shape for each tone, so that colour is not the only sign.
void LinkLine::PaintMark(QPainter& painter, const QColor& color) const {
  const double side = fontMetrics().ascent();
  const QRectF box(1, (height() - side) / 2, side, side);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  if (*tone_ == VerdictTone::kBad || *tone_ == VerdictTone::kWarning) {
    const QPointF corners[] = {
        {box.center().x(), box.top()}, {box.right(), box.bottom()}, {box.left(), box.bottom()}};
    painter.drawPolygon(corners, 3);
    painter.setPen(QPen(Theme::TextOn(color), 1.5));
    painter.drawLine(QPointF(box.center().x(), box.top() + side * 0.4),
                     QPointF(box.center().x(), box.top() + side * 0.68));
    painter.drawPoint(QPointF(box.center().x(), box.top() + side * 0.86));
  } else {
    painter.drawEllipse(box.adjusted(1, 1, -1, -1));
  }
}

void LinkLine::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  if (tone_.has_value()) PaintMark(painter, ToneColor(*tone_, theme));
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (piece.button != nullptr || piece.width <= 0) continue;
    painter.setFont(FontOf(i));
    painter.setPen(i == 0 && tone_.has_value() ? ToneColor(*tone_, theme) : theme.text);
    painter.drawText(QRectF(piece.left, 0, piece.width + 1, height()),
                     Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, piece.shown);
  }
  if (dots_at_ < 0) return;
  painter.setFont(font());
  painter.setPen(theme.text);
  painter.drawText(QRectF(dots_at_, 0, width() - dots_at_, height()),
                   Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, Dots());
}

void LinkLine::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  Arrange();
}

void LinkLine::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) {
    Arrange();
    updateGeometry();
  }
  if (event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

}  // namespace memprof::viewer
