// The palette (Ctrl+K): one field over the window that goes to any view, call site, tensor, step,
// category, device, process, command or recent log by a few letters of its name.
#pragma once

#include <QAbstractListModel>
#include <QFrame>
#include <QPointer>
#include <memory>
#include <vector>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/palette_index.h"

class QAction;
class QLabel;
class QLineEdit;
class QListView;

namespace memprof::viewer {

class MainWindow;

// The results of a search; the index is that of the log, then that of the window.
class PaletteModel : public QAbstractListModel {
  Q_OBJECT

 public:
  static constexpr int kTagRole = Qt::UserRole + 1;
  static constexpr int kDetailRole = Qt::UserRole + 2;
  static constexpr int kQueryRole = Qt::UserRole + 3;

  using QAbstractListModel::QAbstractListModel;

  void SetIndex(std::shared_ptr<const PaletteIndex> index);
  void SetQuery(const QString& query);
  const PaletteItem& ItemAt(int row) const {
    return index_->item(found_[static_cast<std::size_t>(row)]);
  }
  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::shared_ptr<const PaletteIndex> index_ = std::make_shared<const PaletteIndex>();
  std::vector<std::size_t> found_;
  QString query_;
};

class Palette : public QFrame {
  Q_OBJECT

 public:
  // `kept`: whether recent logs are offered.
  Palette(MainWindow* window, bool kept);

  void Open();
  QLineEdit* field() const { return field_; }
  QListView* list() const { return list_; }
  const PaletteModel& model() const { return *model_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  std::vector<PaletteItem> ItemsOfWindow();  // views, commands, recent logs
  void BuildIndex();
  void Place();
  void Search();
  void Close();
  void Pressed(int key);
  void Take(const QModelIndex& index);
  void Go(const PaletteItem& item);
  void GoToSite(analysis::StackId site);

  MainWindow* const window_;
  const bool kept_;
  QLineEdit* field_;
  QListView* list_;
  QLabel* note_;
  PaletteModel* model_;
  std::vector<QAction*> actions_;  // the commands
  QStringList recent_;             // entries
  std::shared_ptr<const PaletteNames> log_names_;
  std::weak_ptr<const analysis::Session> indexed_;  // whose items they are
  QPointer<QWidget> before_;                        // that had the keyboard focus
  JobTracker job_;
};

}  // namespace memprof::viewer
