// The list of views at the left edge of the window, in groups.
#pragma once

#include <QListWidget>
#include <QStyledItemDelegate>
#include <vector>

namespace memprof::viewer {

// A row of the list, with a ring for the keyboard focus.
class NavigationDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
};

class Navigation : public QListWidget {
  Q_OBJECT

 public:
  explicit Navigation(QWidget* parent = nullptr);

  // Index into ViewTable().
  void SetCurrent(int view);
  int current() const;
  // A count after the title of a view; "" for none.
  void SetBadge(int view, const QString& badge);
  QString TitleOf(int view) const { return entries_[static_cast<std::size_t>(view)]->text(); }

  QSize sizeHint() const override;

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 signals:
  void Chosen(int view);

 private:
  void ColorHeadings();

  std::vector<QListWidgetItem*> entries_;  // by view
  std::vector<QListWidgetItem*> headings_;
};

}  // namespace memprof::viewer
