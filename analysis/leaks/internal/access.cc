// Matches launches, copies and memsets with surviving allocations.
#include "analysis/leaks/internal/access.h"

#include <algorithm>

#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

class AccessFinder {
 public:
  AccessFinder(const Session& session, std::vector<AllocationId> survivors)
      : session_(session), survivors_(std::move(survivors)) {
    std::sort(survivors_.begin(), survivors_.end(),
              [this](AllocationId a, AllocationId b) { return Key(a) < Key(b); });
  }

  void Touch(EventId event, std::uint64_t address, AccessFacts& facts) const {
    const int device = session_.events().device(event.value);
    const auto after =
        std::upper_bound(survivors_.begin(), survivors_.end(), std::pair(device, address),
                         [this](const auto& key, AllocationId id) { return key < Key(id); });
    if (after == survivors_.begin()) return;
    const AllocationRecord& a = session_.record(*(after - 1));
    if (a.device == device && address < EndAddress(a.address, a.bytes) && a.birth < event) {
      facts.last_use[(after - 1)->value] = event;
    }
  }

 private:
  std::pair<int, std::uint64_t> Key(AllocationId id) const {
    const AllocationRecord& a = session_.record(id);
    return {a.device, a.address};
  }

  const Session& session_;
  std::vector<AllocationId> survivors_;
};

}  // namespace

AccessFacts FindAccesses(const Session& session, std::vector<AllocationId> survivors,
                         EventId before, std::uint32_t process) {
  AccessFacts facts;
  const EventTable& events = session.events();
  if (!events.Has(Op::kTouch) && !events.Has(Op::kMemcpy) && !events.Has(Op::kMemset)) return facts;
  const AccessFinder finder(session, std::move(survivors));
  const bool several = session.processes().size() > 1;
  for (std::uint32_t e = 0; e < events.size() && e < before.value; ++e) {
    const Op op = events.op(e);
    if (op != Op::kTouch && op != Op::kMemcpy && op != Op::kMemset) continue;
    if (several && session.ProcessOf(EventId(e)) != process) continue;
    facts.known |= op == Op::kTouch;
    finder.Touch(EventId(e), events.address(e), facts);
    if (op == Op::kMemcpy) finder.Touch(EventId(e), events.aux0(e), facts);
  }
  return facts;
}

}  // namespace memprof::analysis
