// Which findings are about memory that a filter lets pass.
#include "analysis/advice/passing.h"

#include <map>
#include <set>

namespace memprof::analysis {
namespace {

// Layers of allocations by site: of all, and of those that pass.
struct SiteLayers {
  std::uint32_t there = 0, pass = 0;
};

}  // namespace

std::vector<bool> PassingFindings(const Session& session, const std::vector<Finding>& findings,
                                  const std::function<std::uint32_t(StackId)>& site_of,
                                  const AllocationSet& passing) {
  std::vector<SiteLayers> by_stack(session.stack_count() + 1);
  std::set<int> cut;  // devices of which some allocation does not pass
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    const std::uint32_t bit = 1u << static_cast<unsigned>(a.layer);
    const bool pass = passing.Has(AllocationId(i));
    if (!pass) cut.insert(a.device);
    if (!a.stack.valid() || a.stack.value >= by_stack.size()) continue;
    SiteLayers& layers = by_stack[a.stack.value];
    layers.there |= bit;
    if (pass) layers.pass |= bit;
  }
  std::map<std::uint32_t, SiteLayers> by_site;
  const auto site = [&site_of](StackId stack) { return site_of ? site_of(stack) : stack.value; };
  for (std::uint32_t i = 0; i < by_stack.size(); ++i) {
    if (by_stack[i].there == 0) continue;
    SiteLayers& layers = by_site[site(StackId(i))];
    layers.there |= by_stack[i].there;
    layers.pass |= by_stack[i].pass;
  }
  std::vector<bool> shown;
  for (const Finding& finding : findings) {
    if (!finding.stack.valid()) {
      shown.push_back(!cut.contains(finding.device));
      continue;
    }
    const SiteLayers& layers = by_site[site(finding.stack)];
    const std::uint32_t own = 1u << static_cast<unsigned>(finding.layer);
    shown.push_back((layers.pass & ((layers.there & own) != 0 ? own : ~0u)) != 0);
  }
  return shown;
}

}  // namespace memprof::analysis
