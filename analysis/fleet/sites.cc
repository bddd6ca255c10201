// Keys, hashes and names of sites.
#include "analysis/fleet/internal/sites.h"

#include <algorithm>

#include "analysis/fleet/hash.h"
#include "analysis/symbols/call_site.h"
#include "analysis/symbols/libraries.h"
#include "analysis/symbols/site_key.h"

namespace memprof::analysis::fleet {
namespace {
constexpr std::uint32_t kUnread = EventId::kNone;
}

FleetSites::FleetSites(const Session& session, Symbols& symbols)
    : symbols_(symbols), of_stack_(session.stack_count(), kUnread) {
  keys_.Of("");
  examples_.emplace_back();
}

std::uint32_t FleetSites::NumberOf(StackId stack) {
  if (stack.value >= of_stack_.size()) return 0;
  std::uint32_t& number = of_stack_[stack.value];
  if (number != kUnread) return number;
  number = keys_.Of(SiteKey(symbols_, stack));
  if (number == examples_.size()) examples_.push_back(stack);
  return number;
}

std::string FleetSites::Name(std::uint32_t number) {
  if (number == 0) return "";
  named_.insert(number);
  return StableHash(keys_[number]);
}

std::vector<SiteRow> FleetSites::Rows() const {
  std::vector<SiteRow> rows;
  for (const std::uint32_t number : named_) {
    const StackId stack = examples_[number];
    const CallSite site = symbols_.SiteOf(stack);
    const Library library = symbols_.LibraryOf(stack);
    SiteRow row;
    row.site = StableHash(keys_[number]);
    row.key = keys_[number];
    row.name = WithLibrary(library, CallSiteText(site, NameStyle::kShort));
    row.function = site.user.function;
    row.file = site.user.file;
    row.line = site.user.line;
    row.library = library.name;
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const SiteRow& a, const SiteRow& b) { return a.site < b.site; });
  return rows;
}

}  // namespace memprof::analysis::fleet
