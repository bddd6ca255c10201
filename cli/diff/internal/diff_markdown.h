// Comparisons as Markdown, for a comment on a change of a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/diff/diff.h"
#include "cli/diff/internal/diff_text.h"

namespace memprof::cli {

// Text that comes from a log, so that nothing in it is markup: no tables, links, mentions or tags.
std::string MarkdownText(std::string_view text);

// As DiffText. Tables in GitHub's style, which GitLab and others read too.
std::string DiffMarkdown(const analysis::DiffReport& report, const DiffSides& sides,
                         std::uint64_t threshold, std::size_t top);

}  // namespace memprof::cli
