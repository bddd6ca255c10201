// Loads and verifies one log, asks all questions about it, and aborts on inconsistent results.
#include "tests/fuzz/one_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "analysis/fleet/fleet.h"
#include "analysis/load/load.h"
#include "analysis/load/verify.h"
#include "analysis/report/report.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/address_map.h"

namespace memprof::fuzz {
namespace {

using analysis::AllocationId;
using analysis::EventId;
using analysis::Session;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "contradiction: %s\n", what);
  std::abort();
}

void CheckColumns(const Session& session) {
  const analysis::EventTable& events = session.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    Require(i == 0 || events.time(i - 1) <= events.time(i), "events out of order");
    Require(events.thread(i) == EventId::kNone || events.thread(i) < session.threads().size(),
            "thread out of range");
    Require(events.context(i) == EventId::kNone || events.context(i) < session.contexts().size(),
            "context out of range");
    Require(
        !events.allocation(i).valid() || events.allocation(i).value < session.allocations().size(),
        "allocation out of range");
  }
}

void CheckAllocations(const Session& session) {
  const auto allocations = session.allocations();
  for (std::uint32_t i = 0; i < allocations.size(); ++i) {
    const analysis::Allocation& allocation = allocations[i];
    Require(allocation.birth.value < session.events().size(), "birth out of range");
    Require(i == 0 || allocations[i - 1].birth < allocation.birth, "births out of order");
    Require(allocation.alive() == !allocation.death.valid(), "alive with a death");
    Require(!allocation.death.valid() || allocation.death >= allocation.birth,
            "death before birth");
    Require(!allocation.parent.valid() || allocation.parent.value < i, "parent after child");
    for (const AllocationId child : session.Children(AllocationId(i)))
      Require(session.allocation(child).parent == AllocationId(i), "children disagree");
    for (const analysis::FrameId frame : session.StackFrames(allocation.stack))
      Require(frame.value < session.frame_count(), "frame out of range");
    static_cast<void>(session.string(allocation.api));
    static_cast<void>(session.tensor(allocation.tensor));
  }
  if (session.events().size() == 0) return;
  const auto last = static_cast<std::uint32_t>(session.events().size() - 1);
  std::size_t alive = 0;
  for (const analysis::Allocation& allocation : allocations) alive += allocation.alive();
  Require(session.LiveAfter(EventId(last)).size() == alive, "live set at the end");
}

// Asks every question that the command line asks, and checks what must hold for the answers of any
// log.
void AskQuestions(const std::shared_ptr<const Session>& session) {
  const analysis::Report report = analysis::BuildReport(*session);
  for (const analysis::DeviceFigures& device : report.devices) {
    Require(device.live_bytes <= device.peak_bytes, "more at the end than at the peak");
    const analysis::AddressMap map =
        analysis::BuildAddressMap(*session, device.info.id, analysis::kForever);
    for (const analysis::MapSegment& segment : map.segments)
      Require(segment.free_bytes <= segment.bytes, "more free than there is");
  }
  for (const analysis::PoolFragmentation& pool : report.fragmentation.pools)
    Require(pool.unusable_bytes <= pool.free_bytes && pool.releasable_bytes <= pool.free_bytes,
            "a pool with more waste than free memory");
  analysis::Symbols symbols(session);
  for (const analysis::SiteQuery& query :
       {analysis::SiteQuery{}, analysis::SiteQuery{.metric = analysis::Metric::kAllocatedBytes}}) {
    const analysis::FlameTree tree = analysis::BuildFlame(*session, symbols, query);
    std::uint64_t bytes = 0;
    for (const analysis::Site& site : analysis::FindSites(*session, query)) bytes += site.bytes;
    Require(!tree.nodes.empty() && tree.nodes[0].bytes == bytes, "flame graph and sites disagree");
  }
  const analysis::FleetRows rows = analysis::RollUp(session, symbols);
  for (const analysis::StepRow& step : rows.rank_step)
    Require(step.peak <= rows.run.peak.value_or(0) || step.device != rows.run.device,
            "a step above the peak");
  for (const analysis::SiteStepRow& site : rows.rank_site_step)
    Require(site.alive_blocks <= session->records().size(), "more alive than were allocated");
}

}  // namespace

bool ReadOneLog(std::string_view bytes) {
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  Require(descriptor >= 0 &&
              write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
          "no memory file");
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const auto session = analysis::LoadLogs({path}, {.find_steps = false});
  const auto verified = analysis::VerifyLog(path);
  close(descriptor);
  Require(verified.ok() || !session.ok(), "loads, but cannot be verified");
  if (!session.ok()) {
    const std::string message(session.status().message());
    Require(message.starts_with(path) && message.find('\n') == std::string::npos,
            "an error must be one line that names the file");
    return false;
  }
  CheckColumns(**session);
  CheckAllocations(**session);
  AskQuestions(*session);
  return true;
}

}  // namespace memprof::fuzz
