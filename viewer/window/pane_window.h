// A window of its own for a panel of the main window. Its main window's shortcuts work in it too.
#pragma once

#include <QWidget>

class QSplitter;

namespace memprof::viewer {

class PaneWindow : public QWidget {
  Q_OBJECT

 public:
  // `pane` is the last one of `home`, and stays there until it is torn off.
  PaneWindow(QWidget* pane, QSplitter* home, QWidget* main);

  // Whether the panel is in this window. Closing the window puts it back.
  bool apart() const { return apart_; }
  void SetApart(bool apart);

  // The splitter's state, with the panel in it.
  QByteArray HomeState() const;
  // In the user's settings, under window/details_….
  void Keep() const;
  // After the splitter's state was restored. What is no state is ignored.
  void Restore();

 signals:
  void Toggled(bool apart);

 protected:
  bool event(QEvent* event) override;  // Ctrl+W closes this window, not the main one
  void keyPressEvent(QKeyEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  QWidget* const pane_;
  QSplitter* const home_;
  QByteArray home_state_;  // when the panel was torn off
  bool apart_ = false;
  bool placed_ = false;  // it has a place on the screen
};

// A small button that tears the panel off, or puts it back.
QWidget* MakeTearButton(PaneWindow* window);

}  // namespace memprof::viewer
