// Lines that many reports share. They end with a newline.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace memprof::cli {

// The maximum width of a line.
inline constexpr std::size_t kWidth = 100;

// "TITLE" on a line of its own, after an empty one.
std::string Heading(std::string_view title);

// `words` on lines of their own, each after `indent` spaces.
std::string Paragraph(std::string_view words, std::size_t indent = 2);

// How many of `total` rows are printed; `top` 0 = all.
std::size_t Shown(std::size_t total, std::size_t top);

// "… and 12 more (--top=0 for all)" when `shown` of `total` rows were printed; else "".
std::string MoreLine(std::size_t shown, std::size_t total);

// "37 %".
std::string Percent(double part, double whole);

}  // namespace memprof::cli
