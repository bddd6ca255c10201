#include "cli/holders/internal/output.h"

#include "analysis/base/units.h"
#include "cli/console/lines.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

constexpr std::size_t kBytesColumns = 10, kBlocksColumns = 9;

std::string Right(const std::string& text, std::size_t columns) {
  return std::string(columns - std::min(columns, Columns(text)), ' ') + text;
}

// Holders are wrapped, not cut: the end of a line says as much as its begin.
std::string RowText(const std::string& bytes, const std::string& blocks,
                    const std::string& holder) {
  constexpr std::size_t kIndent = kBytesColumns + kBlocksColumns + 2;
  std::string text = Wrap(Printable(holder), kWidth - kIndent, 0);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += kIndent)
    text.insert(++at, kIndent, ' ');
  return Cat(Right(bytes, kBytesColumns), Right(blocks, kBlocksColumns), "  ", text, "\n");
}

}  // namespace

std::string HeldText(const Held& held, std::size_t top) {
  std::string text = Wrap(Printable(held.how), kWidth, 0) + "\n\n";
  if (held.rows.empty()) text += "No variable holds memory of a GPU.\n";
  if (!held.rows.empty()) text += RowText("bytes", "blocks", "holder");
  const std::size_t shown = Shown(held.rows.size(), top);
  for (std::size_t i = 0; i < shown; ++i)
    text += RowText(analysis::FormatBytes(held.rows[i].bytes),
                    analysis::FormatCount(held.rows[i].blocks), held.rows[i].path);
  if (const std::string more = MoreLine(shown, held.rows.size()); !more.empty())
    Append(text, "  ", more);
  if (held.rest)
    Append(text, RowText(analysis::FormatBytes(held.rest->bytes),
                         analysis::FormatCount(held.rest->blocks),
                         "no look found what holds it (of PyTorch's allocator)"));
  else
    text += "  How much memory has no holder is not known.\n";
  if (held.garbage_bytes != 0)
    Append(text, "\n", analysis::FormatBytes(held.garbage_bytes),
           " are garbage that waits for Python's collector.\n");
  text += "\nNot seen:\n";
  for (const std::string& limit : held.limits)
    Append(text, "- ", Wrap(Printable(limit), kWidth - 2, 2), "\n");
  return text;
}

Json HeldJson(const Held& held, pid_t pid, std::size_t top) {
  Json json = {{"schema", "memprof.holders/1"},
               {"pid", pid},
               {"by", held.by_program ? "program" : "memory"},
               {"how", held.how},
               {"objects", held.objects}};
  if (held.by_program) {
    json["pause_ns"] = held.pause_ns;
    json["garbage_bytes"] = held.garbage_bytes;
  }
  json["devices"] = Json::array();
  for (const auto& [device, bytes] : held.devices)
    json["devices"].push_back({{"device", device}, {"bytes", bytes}});
  json["holders"] = Json::array();
  for (std::size_t i = 0; i < Shown(held.rows.size(), top); ++i) {
    const HeldRow& row = held.rows[i];
    json["holders"].push_back({{"path", row.path},
                               {"root", row.root},
                               {"chain", row.chain},
                               {"kind", row.kind},
                               {"bytes", row.bytes},
                               {"blocks", row.blocks}});
  }
  if (held.rest)
    json["without_holder"] = {{"bytes", held.rest->bytes}, {"blocks", held.rest->blocks}};
  json["limits"] = held.limits;
  return json;
}

}  // namespace memprof::cli
