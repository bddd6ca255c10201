// Patterns of copies and memsets: bytes that are written or moved for nothing.
#include <algorithm>

#include "analysis/advice/internal/drafts.h"

namespace memprof::analysis::advice {
namespace {

constexpr std::uint64_t kSmallCopy = 64 << 10;  // the driver stages such copies itself
constexpr std::size_t kMaxPending = 64;
constexpr std::uint64_t kToDevice = 1, kToHost = 2, kOnDevice = 3, kPeer = 5;  // log.CopyKind

bool OnDevice(const Session& session, AllocationId id) {
  return id.valid() && PeakLayerOf(session.record(id).layer).has_value();
}

// log.CopyKind; if it is not known, from the ends of the copy.
std::uint64_t KindOf(const Session& session, const Accesses::Copy& copy) {
  const std::uint64_t kind = session.events().aux1(copy.event.value);
  if (kind != 0) return kind;
  const bool from = OnDevice(session, copy.source), to = OnDevice(session, copy.destination);
  if (from && to) return kOnDevice;
  if (to) return kToDevice;
  return from ? kToHost : 0;
}

// Whether [offset, offset + bytes) of `id` may have been written between two events.
bool MayBeWritten(const Drafts& drafts, AllocationId id, std::uint64_t offset, std::uint64_t bytes,
                  EventId after, EventId before) {
  const AllocationRecord& a = drafts.session().record(id);
  if (drafts.accesses().UnknownLaunchesBetween(a, after, before) > 0) return true;
  const std::span<const Access> uses = drafts.accesses().Of(id);
  auto use = std::upper_bound(uses.begin(), uses.end(), after,
                              [](EventId event, const Access& u) { return event < u.event; });
  for (; use != uses.end() && use->event < before; ++use) {
    if (use->use == Use::kKernel) return true;
    if (use->writes() && use->offset < offset + bytes && offset < use->offset + use->bytes)
      return true;
  }
  return false;
}

// Writes of one allocation that were not read yet.
class PendingWrites {
 public:
  PendingWrites(Drafts& drafts, AllocationId id, const AllocationRecord& a)
      : drafts_(drafts), id_(id), a_(a) {}

  void See(const Access& use) {
    if (use.use == Use::kKernel) return writes_.clear();
    if (use.use == Use::kCopyFrom) {
      std::erase_if(writes_, [&use](const Access& w) {
        return w.offset < use.offset + use.bytes && use.offset < w.offset + w.bytes;
      });
      return;
    }
    std::erase_if(writes_, [&](const Access& w) {
      const bool covered = use.offset <= w.offset && w.offset + w.bytes <= use.offset + use.bytes;
      if (covered) Dead(w, use.event, false);
      return covered;
    });
    if (writes_.size() == kMaxPending) writes_.erase(writes_.begin());
    writes_.push_back(use);
  }
  void Freed(EventId death) {
    for (const Access& write : writes_) Dead(write, death, true);
  }

 private:
  void Dead(const Access& write, EventId until, bool freed) {
    if (write.bytes == 0 || drafts_.accesses().UnknownLaunchesBetween(a_, write.event, until) > 0)
      return;
    Draft& draft = drafts_.At(Pattern::kDeadWrite, a_);
    drafts_.Count(draft, write.bytes,
                  {write.event, id_, {}, freed ? "freed unread" : "overwritten unread"});
    draft.finding.moved_bytes += write.bytes;
    draft.other += freed;
    Weaken(draft, Confidence::kLikely);
  }

  Drafts& drafts_;
  const AllocationId id_;
  const AllocationRecord& a_;
  std::vector<Access> writes_;
};

// Follows copies in order, and stores what was copied where.
class CopyWatcher {
 public:
  explicit CopyWatcher(Drafts& drafts) : drafts_(drafts), session_(drafts.session()) {}

  void See(const Accesses::Copy& copy) {
    const std::uint32_t e = copy.event.value;
    const std::uint64_t kind = KindOf(session_, copy), bytes = session_.events().bytes(e);
    if (bytes == 0) return;
    const std::uint64_t source = session_.events().aux0(e), to = session_.events().address(e);
    if (kind == kToHost && OnDevice(session_, copy.source)) {
      Duplicate(copy, {source, 0, bytes});
      downloads_[{to, 0, bytes}] = copy;
    } else if ((kind == kOnDevice || kind == kPeer) && OnDevice(session_, copy.source) &&
               OnDevice(session_, copy.destination)) {
      Duplicate(copy, {source, to, bytes});
    } else if (kind == kToDevice && OnDevice(session_, copy.destination)) {
      if (!RoundTrip(copy, source, bytes)) ++uploads_[{source, to, bytes}][copy.destination.value];
      last_upload_[{source, to, bytes}] = copy;
    }
  }

  void Finish() {
    for (const auto& [key, copy] : last_upload_) {
      const auto uploads = uploads_.find(key);
      if (uploads == uploads_.end()) continue;
      for (const auto& [destination, times] : uploads->second) {
        if (times < 3) continue;
        const AllocationRecord& a = session_.records()[destination];
        Draft& draft = drafts_.At(Pattern::kRepeatedUpload, a);
        for (std::uint32_t i = 1; i < times; ++i)
          drafts_.Count(draft, key.bytes, {copy.event, AllocationId(destination), {}, {}});
        draft.finding.moved_bytes += key.bytes * (times - 1);
        Weaken(draft, Confidence::kPossible);
      }
    }
  }

 private:
  struct Key {
    std::uint64_t from = 0, to = 0, bytes = 0;
    auto operator<=>(const Key&) const = default;
  };

  void Duplicate(const Accesses::Copy& copy, const Key& key) {
    const auto [it, fresh] = last_.try_emplace(key, copy);
    const Accesses::Copy before = it->second;
    it->second = copy;
    if (fresh || before.source != copy.source || before.destination != copy.destination) return;
    if (MayBeWritten(drafts_, copy.source, copy.source_offset, key.bytes, before.event, copy.event))
      return;
    if (key.to != 0 && MayBeWritten(drafts_, copy.destination, copy.destination_offset, key.bytes,
                                    before.event, copy.event))
      return;
    Draft& draft = drafts_.At(Pattern::kDuplicateTransfer, session_.record(copy.source));
    drafts_.Count(draft, key.bytes,
                  {copy.event, copy.source, copy.destination, key.to == 0 ? "to the host" : ""});
    draft.finding.moved_bytes += key.bytes;
    Weaken(draft, Confidence::kLikely);
  }

  bool RoundTrip(const Accesses::Copy& copy, std::uint64_t host, std::uint64_t bytes) {
    const auto download = downloads_.find({host, 0, bytes});
    if (download == downloads_.end()) return false;
    const Accesses::Copy& down = download->second;
    const AllocationRecord& a = session_.record(down.source);
    // Copied to the host to free the memory, then copied back.
    if (a.death.valid() && a.death < copy.event) return false;
    if (MayBeWritten(drafts_, down.source, down.source_offset, bytes, down.event, copy.event))
      return false;
    Draft& draft = drafts_.At(Pattern::kRoundTrip, a);
    drafts_.Count(draft, bytes, {copy.event, down.source, copy.destination, {}});
    draft.finding.moved_bytes += bytes;
    Weaken(draft, Confidence::kPossible);
    return true;
  }

  Drafts& drafts_;
  const Session& session_;
  std::map<Key, Accesses::Copy> last_, downloads_, last_upload_;
  std::map<Key, std::map<std::uint32_t, std::uint32_t>> uploads_;  // times, by destination
};

}  // namespace

void FindDeadWrites(Drafts& drafts) {
  const auto records = drafts.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationId id(i);
    const AllocationRecord& a = records[i];
    const std::span<const Access> uses = drafts.accesses().Of(id);
    // The host can read and write managed memory without an event.
    if (uses.empty() || a.layer == Layer::kManaged || !drafts.UsesCanBeSeen(id)) continue;
    PendingWrites pending(drafts, id, a);
    for (const Access& use : uses) pending.See(use);
    if (a.end_reason == EndReason::kFreed) pending.Freed(a.death);
  }
}

void FindNeedlessCopies(Drafts& drafts) {
  CopyWatcher watcher(drafts);
  for (const Accesses::Copy& copy : drafts.accesses().copies()) watcher.See(copy);
  watcher.Finish();
}

void FindPageableCopies(Drafts& drafts) {
  struct Copies {
    LoopCount loop;
    std::vector<const Accesses::Copy*> all;
  };
  const Session& session = drafts.session();
  std::map<std::tuple<int, Layer, std::uint32_t>, Copies> by_site;
  for (const Accesses::Copy& copy : drafts.accesses().copies()) {
    const std::uint64_t kind = KindOf(session, copy);
    const bool up = kind == kToDevice, down = kind == kToHost;
    if ((!up && !down) || session.events().bytes(copy.event.value) < kSmallCopy ||
        !LoopCount::InLoop(drafts.clock(), copy.event))
      continue;
    const AllocationId host = up ? copy.source : copy.destination;
    const AllocationId device = up ? copy.destination : copy.source;
    if (host.valid() || !OnDevice(session, device)) continue;
    const AllocationRecord& a = session.record(device);
    Copies& copies = by_site[{a.device, a.layer, drafts.SiteOf(a.stack)}];
    copies.loop.Add(drafts.clock(), copy.event);
    copies.all.push_back(&copy);
  }
  for (const auto& [key, copies] : by_site) {
    if (!copies.loop.Loops(drafts.clock())) continue;
    for (const Accesses::Copy* copy : copies.all) {
      const bool down = KindOf(session, *copy) == kToHost;
      const AllocationId device = down ? copy->source : copy->destination;
      Draft& draft = drafts.At(Pattern::kPageableCopy, session.record(device));
      const std::uint64_t bytes = session.events().bytes(copy->event.value);
      drafts.Count(draft, bytes, {copy->event, device, {}, down ? "to the host" : "to the device"});
      draft.finding.moved_bytes += bytes;
      Weaken(draft, Confidence::kLikely);
    }
  }
}

}  // namespace memprof::analysis::advice
