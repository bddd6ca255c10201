// The uses of a document's memory (analysis/timeline/accesses.h), computed once, at the first
// request.
#pragma once

#include <QObject>
#include <memory>

#include "analysis/timeline/accesses.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/document.h"

namespace memprof::viewer {

// Uses, and their session.
struct KnownUses {
  explicit KnownUses(std::shared_ptr<const analysis::Session> of)
      : session(std::move(of)), accesses(*session) {}
  const std::shared_ptr<const analysis::Session> session;
  const analysis::Accesses accesses;
};

class AccessIndex : public QObject {
  Q_OBJECT

 public:
  // The index of a document; created at the first call, and destroyed with the document.
  static AccessIndex* Of(Document* document);

  // Null until they are computed. The first call for a log starts that.
  std::shared_ptr<const KnownUses> Ask();

 signals:
  void Ready();

 private:
  explicit AccessIndex(Document* document);

  Document* const document_;
  std::shared_ptr<const KnownUses> uses_;
  std::shared_ptr<const analysis::Session> queried_;
  JobTracker job_;
};

// When memory was last used, as text such as "by a kernel in step 3, 2.1 s"; or what is not known,
// and why. `uses` null = still computing.
QString DescribeLastUse(const analysis::Session& session, const KnownUses* uses,
                        analysis::AllocationId id);

}  // namespace memprof::viewer
