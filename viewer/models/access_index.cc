// The uses of a document's memory.
#include "viewer/models/access_index.h"

#include "viewer/geometry/units.h"

namespace memprof::viewer {

AccessIndex* AccessIndex::Of(Document* document) {
  auto* found = document->findChild<AccessIndex*>(QString(), Qt::FindDirectChildrenOnly);
  return found != nullptr ? found : new AccessIndex(document);
}

AccessIndex::AccessIndex(Document* document) : QObject(document), document_(document) {}

std::shared_ptr<const KnownUses> AccessIndex::Ask() {
  const auto& session = document_->session();
  if (queried_ != session) {
    queried_ = session;
    uses_.reset();
    job_.Cancel();
    if (session == nullptr) return nullptr;
    job_.Start([session](std::stop_token) { return std::make_shared<const KnownUses>(session); },
               [this](std::shared_ptr<const KnownUses> uses) {
                 uses_ = std::move(uses);
                 emit Ready();
               });
  }
  return uses_;
}

QString DescribeLastUse(const analysis::Session& session, const KnownUses* uses,
                        analysis::AllocationId id) {
  if (uses == nullptr) return AccessIndex::tr("looking …");
  // A tensor is used as the memory that it lies in.
  while (session.record(id).layer == analysis::Layer::kTensor && session.record(id).parent.valid())
    id = session.record(id).parent;
  const analysis::AllocationRecord& record = session.record(id);
  const analysis::AccessEvidence& evidence = uses->accesses.EvidenceFor(record);
  if (!evidence.any()) return AccessIndex::tr("unknown: no kernel or copy was recorded");
  if (!analysis::HasAddress(record.layer) && record.layer != analysis::Layer::kBlock)
    return AccessIndex::tr("unknown for this kind of memory");
  const auto accesses = uses->accesses.Of(id);
  if (accesses.empty()) {
    return evidence.pointers() ? AccessIndex::tr("never seen in use")
                               : AccessIndex::tr("never copied; kernels' pointers are not known");
  }
  const analysis::Access& last = accesses.back();
  const char* const kBy[] = {"by a kernel", "copied from", "copied to", "by a memset"};
  const QString by = AccessIndex::tr(kBy[static_cast<std::size_t>(last.use)]);
  const analysis::TimeNs time = session.events().time(last.event.value);
  const analysis::TimeNs start = session.run().start_time;
  const QString when = FormatDuration(time - std::min(time, start));
  const std::int64_t step = session.StepOf(last.event);
  return step < 0 ? AccessIndex::tr("%1, at %2").arg(by, when)
                  : AccessIndex::tr("%1 in step %2, at %3").arg(by).arg(step).arg(when);
}

}  // namespace memprof::viewer
