// Splits the text of a filter into terms.
#include "analysis/filter/filter_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace memprof::analysis {
namespace {

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

}  // namespace

std::vector<FilterTerm> FilterTerms(std::string_view text) {
  std::vector<FilterTerm> terms;
  for (std::size_t at = 0; at < text.size();) {
    if (IsBlank(text[at])) {
      ++at;
      continue;
    }
    FilterTerm term;
    term.excluded = text[at] == '-';
    if (term.excluded) ++at;
    for (bool inside = false; at < text.size() && (inside || !IsBlank(text[at])); ++at) {
      if (text[at] == '"') {
        inside = !inside;
      } else {
        term.text += text[at];
      }
    }
    if (!term.text.empty()) terms.push_back(std::move(term));
  }
  return terms;
}

std::string QuoteFilterTerm(std::string_view text, bool excluded) {
  std::string plain(text);
  std::erase(plain, '"');  // cannot be quoted
  const bool special = plain.starts_with('-') || std::any_of(plain.begin(), plain.end(), IsBlank);
  std::string term = excluded ? "-" : "";
  return special ? term + '"' + plain + '"' : term + plain;
}

}  // namespace memprof::analysis
