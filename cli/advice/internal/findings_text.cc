// Findings as text.
#include <algorithm>
#include <map>

#include "analysis/base/units.h"
#include "cli/advice/internal/findings.h"
#include "cli/console/lines.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::AdviceExample;
using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::Finding;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::Session;

constexpr std::size_t kExamples = 2;  // of each finding; JSON has all

// Under a finding, "Label: text".
std::string Detail(std::string_view text) { return Paragraph(text, 5); }

double Seconds(const Session& session) {
  return static_cast<double>(session.events().last_time() - session.events().first_time()) * 1e-9;
}

// What would happen to `moved_bytes`.
std::string_view Moved(analysis::Pattern pattern) {
  if (pattern == analysis::Pattern::kPageableCopy) return "no longer copied twice";
  if (pattern == analysis::Pattern::kManagedFaults) return "moved at once, not page by page";
  return "less moved";
}

// "6.00 MiB off the peak of blocks (then 47.7 MiB, step 1); 1.20 MiB less held on average …".
std::string Gain(const Session& session, const Finding& f) {
  if (f.pattern == analysis::Pattern::kSetting) return "what it was set for";
  std::vector<std::string> gains;
  if (f.peak_of) {
    const std::string what =
        *f.peak_of == analysis::PeakLayer::kBlocks ? "the peak of blocks" : "the peak";
    gains.push_back(f.saves_bytes == 0
                        ? Cat("nothing off ", what)
                        : Cat(f.upper_bound ? "at most " : "", FormatBytes(f.saves_bytes), " off ",
                              what, " (then ", FormatBytes(f.new_peak.bytes),
                              f.upper_bound || !f.new_peak.event.valid()
                                  ? std::string()
                                  : Cat(", ", InstantLabel(session, f.new_peak.event)),
                              ")"));
  } else if (f.saves_bytes > 0) {
    gains.push_back(Cat(f.upper_bound ? "at most " : "", FormatBytes(f.saves_bytes),
                        analysis::OccupiesHost(f.layer) ? " of host memory" : " of reserve"));
  }
  if (f.new_reserved > 0)
    gains.push_back(Cat("reserved then ", FormatBytes(f.new_reserved), ", now ",
                        FormatBytes(f.reserved), ", by a replay"));
  const double average = Seconds(session) > 0 ? f.byte_seconds / Seconds(session) : 0;
  if (average >= 1024)
    gains.push_back(Cat(FormatBytes(average), " less held on average of the run"));
  if (f.moved_bytes > 0) gains.push_back(Cat(FormatBytes(f.moved_bytes), " ", Moved(f.pattern)));
  std::string text;
  for (const std::string& gain : gains) Append(text, text.empty() ? "" : "; ", gain);
  return text.empty() ? "time, not memory" : text;
}

std::string TensorIn(const Session& session, AllocationId id) {
  const AllocationRecord& a = session.record(id);
  for (const AllocationId child : session.Children(id)) {
    const AllocationRecord& inner = session.record(child);
    if (inner.layer != analysis::Layer::kTensor || inner.address != a.address) continue;
    return TensorName(session.tensor(inner.tensor()));
  }
  return "";
}

std::string ExampleText(const Session& session, analysis::Symbols& symbols,
                        const AdviceExample& example) {
  std::string text;
  if (example.allocation.valid()) {
    const AllocationRecord& a = session.record(example.allocation);
    Append(text, FormatBytes(a.bytes), " at ", Hex(a.address));
    const std::string tensor = TensorIn(session, example.allocation);
    if (!tensor.empty()) Append(text, " (", Printable(tensor), ")");
    Append(text, ", ");
  }
  if (example.event.valid()) {
    Append(text, "event ", example.event.value, ", ",
           session.steps().empty() ? "" : Cat(InstantLabel(session, example.event), ", "), "after ",
           Since(session, session.events().time(example.event.value)));
  }
  if (!example.what.empty()) Append(text, ": ", example.what);
  if (example.other.valid())
    Append(text, "; with that of ", SiteLabel(symbols, session.record(example.other).stack));
  return text;
}

std::string Where(analysis::Symbols& symbols, const Finding& f) {
  if (f.stack.valid()) return SiteLabel(symbols, f.stack);
  if (f.pattern == analysis::Pattern::kSetting) return "PyTorch's allocator";
  return f.layer == analysis::Layer::kSegment ? "the framework's allocator" : "(no call stack)";
}

std::string Steps(const Finding& f) {
  if (f.last_step < 0) return "";
  const std::string first = f.first_step < 0 ? "set-up" : Cat(f.first_step);
  return f.first_step == f.last_step ? Cat(", step ", first)
                                     : Cat(", steps ", first, "…", f.last_step);
}

}  // namespace

std::string FindingText(const Session& session, analysis::Symbols& symbols, const Finding& f,
                        std::size_t number) {
  const std::string head = Cat(number < 10 ? " " : "", number, ". ",
                               std::string(PatternName(f.pattern)), ": ", Where(symbols, f));
  std::string text = Cat(Styled(Style::kBold, CutEnd(head, kWidth)), "\n");
  Append(text, Detail(Cat("Gain: ", Gain(session, f), "; ", ConfidenceName(f.confidence), ".")),
         Detail(Cat("Seen: ", Printable(f.why))), Detail(Cat("Change: ", f.fix)));
  if (!f.assumption.empty()) Append(text, Detail(Cat("Assumes: ", f.assumption)));
  if (f.pattern == analysis::Pattern::kSetting) return text;  // concerns no memory of the log
  Append(text, Detail(Cat(
                   f.device == analysis::kNoDevice ? std::string("Host") : Cat("Device ", f.device),
                   ", ", analysis::LayerName(f.layer), Steps(f), ", ", FormatBytes(f.bytes),
                   " in all. For instance:")));
  for (std::size_t i = 0; i < std::min(f.examples.size(), kExamples); ++i)
    Append(text, Detail(Cat("- ", ExampleText(session, symbols, f.examples[i]))));
  return text;
}

std::string CombinationsText(const analysis::AdviceReport& report) {
  std::string text;
  for (const analysis::AdviceCombination& combination : report.combinations) {
    if (text.empty()) text = Heading("Together");
    std::string names;
    for (const analysis::Pattern pattern : combination.patterns)
      Append(names, names.empty() ? "" : " + ", PatternId(pattern));
    text += Paragraph(Cat("Device ", combination.device, ", ", names, ": ",
                          FormatBytes(combination.saves_bytes), " off the peak of blocks, then ",
                          FormatBytes(combination.new_peak.bytes),
                          combination.new_reserved > 0
                              ? Cat(" (reserved: ", FormatBytes(combination.new_reserved), ")")
                              : std::string(),
                          "."));
  }
  return text;
}

std::string EvidenceText(const analysis::AdviceReport& report) {
  std::string text;
  std::map<std::string, std::string> missing;  // evidence → patterns
  for (std::size_t i = 0; i < report.patterns.size(); ++i) {
    if (report.patterns[i].looked_for) continue;
    std::string& patterns = missing[report.patterns[i].missing];
    Append(patterns, patterns.empty() ? "" : ", ",
           analysis::PatternName(static_cast<analysis::Pattern>(i)));
  }
  if (missing.empty() && report.notes.empty()) return text;
  Append(text, Heading("What this log cannot show"));
  for (const std::string& note : report.notes) text += Paragraph(note);
  for (const auto& [evidence, patterns] : missing)
    text += Paragraph(Cat("Not looked for, because the log lacks ", evidence, ": ", patterns, "."));
  return text;
}

}  // namespace memprof::cli
