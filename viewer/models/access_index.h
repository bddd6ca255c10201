// The uses of a document's memory (analysis/timeline/accesses.h), found once, when somebody first
// asks.
#pragma once

#include <QObject>
#include <memory>

#include "analysis/timeline/accesses.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/document.h"

namespace memprof::viewer {

// Uses, and the session that they are of.
struct KnownUses {
  explicit KnownUses(std::shared_ptr<const analysis::Session> of)
      : session(std::move(of)), accesses(*session) {}
  const std::shared_ptr<const analysis::Session> session;
  const analysis::Accesses accesses;
};

class AccessIndex : public QObject {
  Q_OBJECT

 public:
  // The one of a document; it is made by the first who asks, and goes with the document.
  static AccessIndex* Of(Document* document);

  // Null until they are known. The first call for a log begins to look.
  std::shared_ptr<const KnownUses> Ask();

 signals:
  void Ready();

 private:
  explicit AccessIndex(Document* document);

  Document* const document_;
  std::shared_ptr<const KnownUses> uses_;
  std::shared_ptr<const analysis::Session> asked_;
  JobTracker job_;
};

// When memory was last used, in a sentence such as "by a kernel in step 3, 2.1 s"; what is not
// known, and why. `uses` null = still looking.
QString DescribeLastUse(const analysis::Session& session, const KnownUses* uses,
                        analysis::AllocationId id);

}  // namespace memprof::viewer
