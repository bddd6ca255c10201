// A sentence on one line, of which some parts can be clicked.
#pragma once

#include <QWidget>
#include <optional>
#include <vector>

#include "viewer/models/verdict.h"

namespace memprof::viewer {

class LinkButton;

// Links are reached with Tab, and followed with Enter, Space or a click. Without space for the
// whole sentence, names are shortened, then groups of parts are left out.
class LinkLine : public QWidget {
  Q_OBJECT

 public:
  explicit LinkLine(QWidget* parent = nullptr);
  ~LinkLine() override;

  // With a tone, the first part is strong and in the tone's colour, after a mark of its own shape.
  void Show(std::vector<VerdictPart> parts, std::optional<VerdictTone> tone = std::nullopt);
  // The whole sentence; and what there was space for.
  QString Text() const;
  QString ShownText() const;
  // Follows the first link with that text, as a click does; false if there is none.
  bool Follow(const QString& text);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void Followed(const VerdictTarget& target);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Piece {
    VerdictPart part;
    LinkButton* button = nullptr;  // null: text
    QString shown;
    double left = 0, width = 0;
  };

  void Arrange();
  QFont FontOf(std::size_t piece) const;
  double MarkWidth() const;
  void PaintMark(QPainter& painter, const QColor& color) const;

  std::vector<Piece> pieces_;
  std::optional<VerdictTone> tone_;
  double dots_at_ = -1;  // where the rest is left out; < 0: nothing is
};

}  // namespace memprof::viewer
