// Sums up by library.
#include "analysis/peak/library_uses.h"

#include <algorithm>

namespace memprof::analysis {
bool LibraryUses::worth_telling() const {
  const auto named = [](const LibraryUse& use) {
    return use.library.role != LibraryRole::kProgram;
  };
  return (driver.size() > 1 && std::any_of(driver.begin(), driver.end(), named)) ||
         (driver.size() == 1 && driver[0].library.role == LibraryRole::kLibrary) ||
         std::any_of(blocks.begin(), blocks.end(), named);
}

namespace {

void Add(const LibraryUse& more, std::vector<LibraryUse>* uses) {
  const auto at = std::find_if(uses->begin(), uses->end(),
                               [&](const LibraryUse& use) { return use.library == more.library; });
  if (at == uses->end()) {
    uses->push_back(more);
    return;
  }
  at->bytes += more.bytes;
  at->blocks += more.blocks;
}

}  // namespace

LibraryUses UsesAt(const Session& session, Symbols& symbols, const Peak& peak) {
  LibraryUses uses;
  for (const Site& site : peak.sites)
    Add({symbols.LibraryOf(site.stack), site.bytes, site.blocks}, &uses.driver);
  for (const AllocationId id : peak.blocks) {
    const AllocationRecord& record = session.record(id);
    Add({symbols.LibraryOf(record.stack), record.bytes, 1}, &uses.blocks);
  }
  for (std::vector<LibraryUse>* list : {&uses.driver, &uses.blocks})
    std::stable_sort(list->begin(), list->end(),
                     [](const LibraryUse& a, const LibraryUse& b) { return a.bytes > b.bytes; });
  return uses;
}

std::vector<PeakSaving> WithoutLibraries(const Session& session, Symbols& symbols,
                                         const PeakSavings& savings, int device, PeakLayer of,
                                         const std::vector<LibraryUse>& uses) {
  constexpr std::uint32_t kUnknown = kNoGroup - 1;
  std::vector<std::uint32_t> known(session.stack_count() + 1, kUnknown);  // by stack; last: none
  return savings.Without(device, of, uses.size(), [&](AllocationId, const AllocationRecord& a) {
    std::uint32_t& group = known[std::min<std::size_t>(a.stack.value, session.stack_count())];
    if (group != kUnknown) return group;
    const Library library = symbols.LibraryOf(a.stack);
    const auto at = std::find_if(uses.begin(), uses.end(),
                                 [&](const LibraryUse& use) { return use.library == library; });
    group = at == uses.end() ? kNoGroup : static_cast<std::uint32_t>(at - uses.begin());
    return group;
  });
}

}  // namespace memprof::analysis
