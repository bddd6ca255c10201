// Makes the grid that the page of a fleet shows, with the memprof in the viewer's folder.
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QTemporaryDir>
#include <memory>
#include <optional>

namespace memprof::viewer {

// Whether a folder has the tables of `memprof fleet map`.
bool IsFleet(const QString& folder);

// Which grid of a fleet; what is left out, memprof chooses.
struct FleetChoice {
  std::optional<QString> job;
  std::optional<std::int64_t> attempt;
  QString figure;
};

class FleetGridMaker : public QObject {
  Q_OBJECT

 public:
  // `programs`: the folder with memprof.
  explicit FleetGridMaker(const QString& programs, QObject* parent = nullptr);
  ~FleetGridMaker() override;

  bool running() const { return process_.state() != QProcess::NotRunning; }
  // Ends with Made or Failed; what ran before is stopped, without a signal.
  void Start(const QString& folder, const FleetChoice& choice);
  void Cancel();

 signals:
  // The file is this object's, and is there until the next start.
  void Made(const QString& path);
  void Failed(const QString& why);  // one line

 private:
  void Finished(int code, QProcess::ExitStatus status);

  const QString memprof_;
  std::unique_ptr<QTemporaryDir> scratch_;
  QProcess process_;
  bool cancelled_ = false;
};

}  // namespace memprof::viewer
