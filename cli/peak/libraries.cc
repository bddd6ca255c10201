// Libraries as text and as JSON.
#include "cli/peak/libraries.h"

#include <algorithm>
#include <vector>

#include "cli/console/json.h"
#include "cli/console/text.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::LibraryRole;
using analysis::LibraryUse;
using analysis::Peak;
using analysis::PeakLayer;
using analysis::PeakSaving;
using analysis::PeakSavings;
using analysis::Session;

// Blocks without a library belong to the framework itself.
std::string Label(const analysis::Library& library, PeakLayer of) {
  if (of == PeakLayer::kBlocks && library.role == LibraryRole::kProgram) return "(no library)";
  return LibraryLabel(library);
}

std::string LibraryTable(const Session& session, analysis::Symbols& symbols,
                         const PeakSavings* savings, const Peak& peak, PeakLayer of,
                         const std::vector<LibraryUse>& uses) {
  std::uint64_t whole = 0;
  for (const LibraryUse& use : uses) whole += use.bytes;
  std::vector<PeakSaving> without(uses.size());
  if (savings != nullptr)
    without = analysis::WithoutLibraries(session, symbols, *savings, peak.device, of, uses);
  std::vector<PeakRow> rows;
  for (std::size_t i = 0; i < uses.size(); ++i)
    rows.push_back({Label(uses[i].library, of), uses[i].bytes, uses[i].blocks, without[i]});
  return PeakTable(session, rows, savings != nullptr, whole, 0, "library");
}

}  // namespace

std::string LibraryLabel(const analysis::Library& library) {
  return library.role == LibraryRole::kProgram ? "the program itself" : std::string(library.name);
}

std::string LibrariesText(const Session& session, analysis::Symbols& symbols, const Peak& peak,
                          const PeakSavings* savings, bool always) {
  const analysis::LibraryUses uses = analysis::UsesAt(session, symbols, peak);
  if (!always && !uses.worth_telling()) return "";
  std::string text =
      Cat("\n  By library, what was requested from the driver:\n",
          LibraryTable(session, symbols, savings, peak, PeakLayer::kDriver, uses.driver));
  const bool named = std::any_of(uses.blocks.begin(), uses.blocks.end(), [](const LibraryUse& use) {
    return use.library.role != LibraryRole::kProgram;
  });
  if (named || (always && !uses.blocks.empty())) {
    Append(text, "\n  By library, blocks of the allocator",
           savings == nullptr ? "" : " (saves: of the peak of blocks)", ":\n",
           LibraryTable(session, symbols, savings, peak, PeakLayer::kBlocks, uses.blocks));
  }
  return text;
}

Json LibrariesJson(const Session& session, analysis::Symbols& symbols, const Peak& peak,
                   const PeakSavings* savings) {
  const analysis::LibraryUses uses = analysis::UsesAt(session, symbols, peak);
  Json list = Json::array();
  const auto add = [&](const std::vector<LibraryUse>& some, PeakLayer of, std::string_view name) {
    std::vector<PeakSaving> without;
    if (savings != nullptr)
      without = analysis::WithoutLibraries(session, symbols, *savings, peak.device, of, some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      list.push_back({{"library", std::string(some[i].library.name)},
                      {"role", std::string(analysis::LibraryRoleName(some[i].library.role))},
                      {"of", std::string(name)},
                      {"bytes", some[i].bytes},
                      {"blocks", some[i].blocks}});
      if (savings != nullptr) list.back()["without"] = SavingJson(session, without[i]);
    }
  };
  add(uses.driver, PeakLayer::kDriver, "driver");
  add(uses.blocks, PeakLayer::kBlocks, "blocks");
  return list;
}

}  // namespace memprof::cli
