// Finds frames and stacks that are equal once cells have their names.
#include "analysis/load/internal/cells.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

bool IsHash(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c); });
}

// The hash of "…ipykernel_71/286144868.py" or "<ipython-input-3-9d1f0c2ab34e>"; "" for other text.
std::string_view HashIn(std::string_view file, std::string_view begin, std::string_view after,
                        std::string_view end) {
  const std::size_t at = file.rfind(begin);
  if (at == std::string_view::npos || !file.ends_with(end)) return "";
  file.remove_prefix(at + begin.size());
  const auto digits =
      static_cast<std::size_t>(std::find_if_not(file.begin(), file.end(), IsDigit) - file.begin());
  file.remove_prefix(digits);
  if (digits == 0 || !file.starts_with(after)) return "";
  return file.substr(after.size(), file.size() - after.size() - end.size());
}

// By frame: the first one that is equal. A log may have a text under several ids.
std::vector<std::uint32_t> FirstEqual(const std::vector<std::string>& strings,
                                      const std::vector<Frame>& frames) {
  absl::flat_hash_map<std::string_view, std::uint32_t> texts;
  const auto text = [&](StringId id) {
    return id.value >= strings.size()
               ? id.value
               : texts.try_emplace(strings[id.value], id.value).first->second;
  };
  using Key =
      std::tuple<bool, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  absl::flat_hash_map<Key, std::uint32_t> known;
  std::vector<std::uint32_t> first;
  for (const Frame& frame : frames) {
    const auto row = static_cast<std::uint32_t>(first.size());
    const Key key = {frame.python,         frame.address,    frame.module,
                     text(frame.function), text(frame.file), frame.line};
    first.push_back(known.try_emplace(key, row).first->second);
  }
  return first;
}

}  // namespace

std::string CellOf(std::string_view file) {
  std::string_view hash;
  if (file.starts_with('<')) hash = HashIn(file, "<ipython-input-", "-", ">");
  for (const char* slash : {"/", "\\"})
    if (hash.empty()) hash = HashIn(file, absl::StrCat(slash, "ipykernel_"), slash, ".py");
  return IsHash(hash) ? absl::StrCat("<cell ", std::string(hash), ">") : "";
}

std::vector<std::uint32_t> JoinCells(std::vector<std::string>* strings, std::vector<Frame>* frames,
                                     std::vector<StackId>* parents,
                                     std::vector<FrameId>* frame_of) {
  absl::flat_hash_map<std::string, StringId> names;
  for (Frame& frame : *frames) {
    if (!frame.python || frame.file.value >= strings->size()) continue;
    std::string cell = CellOf((*strings)[frame.file.value]);
    if (cell.empty()) continue;
    const auto [name, fresh] =
        names.try_emplace(cell, StringId(static_cast<std::uint32_t>(strings->size())));
    if (fresh) strings->push_back(std::move(cell));
    frame.file = name->second;
  }
  if (names.empty()) return {};
  const std::vector<std::uint32_t> first_frame = FirstEqual(*strings, *frames);
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  std::vector<std::uint32_t> first;
  for (std::uint32_t row = 0; row < parents->size(); ++row) {
    StackId& parent = (*parents)[row];  // a lower row
    FrameId& frame = (*frame_of)[row];
    if (parent.valid()) parent = StackId(first[parent.value]);
    frame = FrameId(first_frame[frame.value]);
    first.push_back(known.try_emplace({parent.value, frame.value}, row).first->second);
  }
  return first;
}

}  // namespace memprof::analysis
