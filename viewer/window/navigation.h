// The list of views at the left edge of the window, in groups.
#pragma once

#include <QListWidget>
#include <vector>

namespace memprof::viewer {

class Navigation : public QListWidget {
  Q_OBJECT

 public:
  explicit Navigation(QWidget* parent = nullptr);

  // Index into ViewTable().
  void SetCurrent(int view);
  int current() const;
  // A count behind the title of a view; "" for none.
  void SetBadge(int view, const QString& badge);
  QString TitleOf(int view) const { return entries_[static_cast<std::size_t>(view)]->text(); }

  QSize sizeHint() const override;

 protected:
  void showEvent(QShowEvent* event) override;

 signals:
  void Chosen(int view);

 private:
  std::vector<QListWidgetItem*> entries_;  // by view
};

}  // namespace memprof::viewer
