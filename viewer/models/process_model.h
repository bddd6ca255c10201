// The processes of a job: one row each, with marked outliers.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <memory>
#include <vector>

#include "analysis/report/process_figures.h"

namespace memprof::viewer {

// The content of the view: figures and how even they are. Immutable.
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

// The same with the columns of another window; the figures are of the whole run. O(pixels).
std::shared_ptr<const ProcessPicture> WithWindow(const ProcessPicture& picture,
                                                 analysis::TimeWindow window, int columns);

// "rank 3", or "process 4" if no launcher set a rank.
QString ProcessName(const analysis::Session& session, std::uint32_t process);

// Sentences on the figures: how even, which outliers, how shared memory and clocks are counted; for
// one process, how to open several.
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
  // The sort key; the share of the largest, for bars; +1 or -1 for an outlier; the text for files
  // (as in TensorModel).
  static constexpr int kSortRole = Qt::UserRole + 1;
  static constexpr int kShareRole = Qt::UserRole + 2;
  static constexpr int kOutlierRole = Qt::UserRole + 3;
  static constexpr int kPlainRole = Qt::UserRole + 4;
  static constexpr int kProcessRole = Qt::UserRole + 5;  // row of Session::processes()

  explicit ProcessModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void SetPicture(std::shared_ptr<const ProcessPicture> picture);
  const ProcessPicture* picture() const { return picture_.get(); }
  // Whether the column does not distinguish processes: no memory of the kind, or one host.
  bool IsEmpty(int column) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString Text(std::uint32_t process, int column) const;
  // The figure of a column with bytes or counts.
  std::uint64_t Figure(std::uint32_t process, int column) const;
  const analysis::Spread* SpreadOf(int column) const;
  int Outlier(std::uint32_t process, int column) const;
  QString Tip(std::uint32_t process, int column) const;

  std::shared_ptr<const ProcessPicture> picture_;
};

}  // namespace memprof::viewer
