// The processes of a job side by side: one row each, with what stands out marked.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <memory>
#include <vector>

#include "analysis/report/process_figures.h"

namespace memprof::viewer {

// What the view shows: figures with how even they are. Never changes once made.
struct ProcessPicture {
  std::shared_ptr<const analysis::Session> session;
  std::shared_ptr<const analysis::ProcessCourses> courses;
  analysis::TimeWindow window;                    // of the columns
  std::vector<analysis::ProcessFigures> figures;  // by process
  std::uint64_t highest = 0;                      // of all columns: the common scale
  analysis::Spread driver_peak, in_use_peak, reserved_peak, driver_end, events;
};

std::shared_ptr<const ProcessPicture> MakeProcessPicture(
    std::shared_ptr<const analysis::Session> session, const analysis::ProcessQuery& query,
    const std::stop_token& stop = {});

// The same with the columns of another window: the figures are of whole runs. O(pixels).
std::shared_ptr<const ProcessPicture> WithWindow(const ProcessPicture& picture,
                                                 analysis::TimeWindow window, int columns);

// "rank 3", or "process 4" where no launcher said a rank.
QString ProcessName(const analysis::Session& session, std::uint32_t process);

// What the figures say, a sentence each: how even, what stands out, how shared memory and clocks
// are counted; with one process, how to open several.
QStringList ProcessSentences(const ProcessPicture& picture);

class ProcessModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kProcess,
    kPid,
    kHost,
    kDevices,
    kDriverPeak,
    kInUsePeak,
    kReservedPeak,
    kOverTime,  // drawn by ProcessLanes
    kAtEnd,
    kLeaked,
    kHostMemory,
    kImported,
    kEvents,
    kClock,
    kLog,
    kColumnCount
  };
  // What to sort by; the share of the largest, for bars; +1 or -1 where a figure stands out; for
  // files (as TensorModel's).
  static constexpr int kSortRole = Qt::UserRole + 1;
  static constexpr int kShareRole = Qt::UserRole + 2;
  static constexpr int kOutlierRole = Qt::UserRole + 3;
  static constexpr int kPlainRole = Qt::UserRole + 4;
  static constexpr int kProcessRole = Qt::UserRole + 5;  // row of Session::processes()

  explicit ProcessModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void SetPicture(std::shared_ptr<const ProcessPicture> picture);
  const ProcessPicture* picture() const { return picture_.get(); }
  // Nothing there tells the processes apart: nobody has memory of the kind, all are on one host.
  bool IsEmpty(int column) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString Text(std::uint32_t process, int column) const;
  // The figure of a column that holds bytes or counts.
  std::uint64_t Figure(std::uint32_t process, int column) const;
  const analysis::Spread* SpreadOf(int column) const;
  int Outlier(std::uint32_t process, int column) const;
  QString Tip(std::uint32_t process, int column) const;

  std::shared_ptr<const ProcessPicture> picture_;
};

}  // namespace memprof::viewer
