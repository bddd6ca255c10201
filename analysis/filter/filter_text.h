// The text of a filter as its terms: `conv -weight "two words"`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memprof::analysis {

struct FilterTerm {
  std::string text;       // without quotes, never empty
  bool excluded = false;  // "-" was before it: what it matches does not pass

  bool operator==(const FilterTerm&) const = default;
};

// Terms are separated by blanks; quotes keep blanks together, and make a "-" inside them part of
// the text. As users type it, no text is wrong: a missing second quote is at the end, and a term
// without text is none.
std::vector<FilterTerm> FilterTerms(std::string_view text);

// A text as one term.
std::string QuoteFilterTerm(std::string_view text, bool excluded = false);

}  // namespace memprof::analysis
