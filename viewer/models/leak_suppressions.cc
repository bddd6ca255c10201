// Suppressed leaks.
#include "viewer/models/leak_suppressions.h"

#include <algorithm>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"

namespace memprof::viewer {
namespace {

// One line in any case; a star stands for characters that a line cannot contain.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, '*');
  return text;
}

// The pattern for one frame; empty if the frame has no name that is the same in other runs.
std::string PatternOf(const analysis::SourceFrame& frame) {
  if (frame.symbolised && !frame.function.empty()) return "^" + OneLine(frame.function) + "$";
  if (!frame.module.empty()) return "^" + OneLine(frame.module) + "$";
  return {};
}

}  // namespace

QString AsSuppression(const LeakRow& row) {
  std::string pattern = PatternOf(row.site);
  for (const analysis::SourceFrame& frame : row.stack)
    if (pattern.empty()) pattern = PatternOf(frame);
  if (pattern.empty()) return {};
  QString comment = Tr("# %1 in %2, %3")
                        .arg(FormatBytes(row.leak.bytes),
                             FormatPlural(row.leak.blocks, Tr("block")), ShortSite(row.site));
  for (QChar& c : comment)
    if (c < QLatin1Char(' ')) c = QLatin1Char('*');
  return comment + QStringLiteral("\nleak:") + ToQString(pattern) + QLatin1Char('\n');
}

bool Matches(const analysis::Suppressions& suppressions, const LeakRow& row) {
  std::vector<analysis::SourceFrame> frames = row.stack;
  // Also matches names in the short form of the tables.
  for (const analysis::SourceFrame& frame : row.stack) {
    analysis::SourceFrame shorter;
    shorter.function = ShortFunction(ToQString(frame.function)).toStdString();
    frames.push_back(std::move(shorter));
  }
  return suppressions.Match(frames) >= 0;
}

LeakSuppressions::Key LeakSuppressions::KeyOf(const LeakRow& row) {
  // Without a stack, leaks are identified by their example.
  return {row.leak.stack.value, row.leak.layer, row.leak.device,
          row.leak.stack.valid() ? 0 : row.leak.example.value};
}

void LeakSuppressions::Hide(const LeakRow& row) {
  steps_.push_back({KeyOf(row), nullptr, ShortSite(row.site)});
}

void LeakSuppressions::Apply(std::shared_ptr<const analysis::Suppressions> file,
                             const QString& name) {
  steps_.push_back({{}, std::move(file), name});
}

bool LeakSuppressions::Hides(const LeakRow& row) const {
  return std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    return step.file != nullptr ? Matches(*step.file, row) : step.leak == KeyOf(row);
  });
}

void LeakSuppressions::Undo() {
  if (!steps_.empty()) steps_.pop_back();
}

QString LeakSuppressions::LastText() const {
  return steps_.empty() ? QString() : steps_.back().text;
}

}  // namespace memprof::viewer
