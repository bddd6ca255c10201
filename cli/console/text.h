// Joining pieces of text, and breaking it into lines.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::cli {

namespace internal {
inline void AppendPiece(std::string& text, std::string_view piece) { text += piece; }
inline void AppendPiece(std::string& text, char piece) { text += piece; }
template <std::integral T>
requires(!std::same_as<T, char> && !std::same_as<T, bool>) void AppendPiece(std::string& text,
                                                                            T piece) {
  text += std::to_string(piece);
}
}  // namespace internal

// Appends strings, characters and integers to `text`.
template <typename... Pieces>
void Append(std::string& text, const Pieces&... pieces) {
  (internal::AppendPiece(text, pieces), ...);
}

template <typename... Pieces>
std::string Cat(const Pieces&... pieces) {
  std::string text;
  Append(text, pieces...);
  return text;
}

// Breaks `text` at spaces into lines of at most `width` columns; all but the first begin with
// `indent` spaces, which count. Words longer than a line stay whole.
std::string Wrap(std::string_view text, std::size_t width, std::size_t indent);

// Display columns of UTF-8 `text`, taking every code point as one.
std::size_t Columns(std::string_view text);

// `text` cut to `width` columns, "…" in the place of what is missing at the front, at the end, or
// behind the first `kept` columns (a third where that is too many): what ends in a place, as sites
// do, keeps it.
std::string CutEnd(std::string_view text, std::size_t width);
std::string CutFront(std::string_view text, std::size_t width);
std::string CutMiddle(std::string_view text, std::size_t width, std::size_t kept = 0);
// A site of SiteLabel(): of two frames the user's stays whole if it can, or without its function.
std::string CutSite(std::string_view site, std::size_t width);
// Cells of one column, each cut as a site; those that would look alike are cut elsewhere.
std::vector<std::string> CutApart(const std::vector<std::string>& cells, std::size_t width);

// "0x7f00…", lower case.
std::string Hex(std::uint64_t value);

// Without control characters, which a hostile log could use to speak to the terminal: they become
// "?". Bytes of 0x80 and above stay.
std::string Printable(std::string_view text);

}  // namespace memprof::cli
