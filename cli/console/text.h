// Joins pieces of text, and breaks text into lines.
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

// `text` cut to `width` columns, with "…" for the missing part: at the front, at the end, or after
// the first `kept` columns (a third if that is too many): so a text that ends in a place, as sites
// do, keeps the place.
std::string CutEnd(std::string_view text, std::size_t width);
std::string CutFront(std::string_view text, std::size_t width);
std::string CutMiddle(std::string_view text, std::size_t width, std::size_t kept = 0);
// Cuts a SiteLabel(): of two frames the user's stays whole if possible, or without its function.
std::string CutSite(std::string_view site, std::size_t width);
// Cuts the cells of one column as sites, such that no two different ones look alike.
std::vector<std::string> CutApart(const std::vector<std::string>& cells, std::size_t width);

// "0x7f00…", lower case.
std::string Hex(std::uint64_t value);

// Replaces control characters by "?": a hostile log could use them to control the terminal. Bytes
// of 0x80 and above stay.
std::string Printable(std::string_view text);

}  // namespace memprof::cli
