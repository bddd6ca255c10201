// Where the window is in its log, as links: it arrives where a link says, and says where it is.
#pragma once

#include <QObject>
#include <functional>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/document.h"
#include "viewer/models/link_target.h"
#include "viewer/models/selection.h"

namespace memprof::viewer {

class Places : public QObject {
  Q_OBJECT

 public:
  // `shown`: the view of the window.
  Places(Document* document, Selection* selection, std::function<ShownView()> shown,
         QObject* parent = nullptr);

  // The log that is opened next is shown so, once its timelines are there; "" as it comes.
  void Expect(const QString& fragment);
  bool expects() const { return !expected_.empty(); }
  // Shows this place of the open log: what the link does not name is shown whole.
  void Go(const QString& fragment);

  // The present place as a fragment. Fast if the names of the selected site were
  // already shown; otherwise ask for it.
  QString Here() const;
  void AskHere(std::function<void(const QString&)> then);

 signals:
  void ViewNamed(const QString& name);
  // Of that view, once the rest is as the link says. What cannot be is added to `problems`.
  void StateNamed(const ViewState& state, QStringList* problems);
  // What of a link was not understood or is not there: one line.
  void Missed(const QString& line);

 private:
  void TimelinesReady();
  void Find(const Link& link);
  void Arrive(const Link& link, const LinkTarget& target);
  LinkSession Session() const;

  Document* const document_;
  Selection* const selection_;
  const std::function<ShownView()> shown_;
  Link expected_;
  JobTracker find_job_, here_job_;
};

}  // namespace memprof::viewer
