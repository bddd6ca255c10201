// Names of places, times and shapes.
#include "cli/shared/names.h"

#include <algorithm>
#include <array>

#include "analysis/base/units.h"
#include "analysis/symbols/call_site.h"
#include "cli/console/lines.h"
#include "cli/console/text.h"
#include "proto/memprof.pb.h"

namespace memprof::cli {
namespace {

using analysis::NameStyle;
using analysis::SourceFrame;
using analysis::StackId;
using analysis::TimeNs;

// The site, preceded by the library that allocated for itself.
std::string Label(analysis::Symbols& symbols, StackId stack, const analysis::CallSite& site) {
  return Printable(analysis::WithLibrary(symbols.LibraryOf(stack),
                                         analysis::CallSiteText(site, NameStyle::kShort)));
}

std::string_view SeverityName(log::Severity severity) {
  switch (severity) {
    case log::Severity::kInfo:
      return "info";
    case log::Severity::kNotice:
      return "notice";
    case log::Severity::kDataLoss:
      return "data loss";
    case log::Severity::kError:
      return "error";
  }
  return "unknown";
}

}  // namespace

std::string ShortFunction(std::string_view function) {
  return Printable(analysis::FunctionText(function, NameStyle::kQualified));
}

std::string LastScopes(std::string_view function) {
  return std::string(analysis::LastScopes(function));
}

std::string SiteLabel(analysis::Symbols& symbols, StackId stack) {
  return stack.valid() ? Label(symbols, stack, symbols.SiteOf(stack)) : "(no call stack)";
}

std::string SiteLabel(analysis::Symbols& symbols, const analysis::SiteGroups& sites,
                      std::uint32_t group) {
  const StackId stack = sites.Example(group);
  return stack.valid() ? Label(symbols, stack, sites.Site(group)) : "(no call stack)";
}

std::string SiteAndCaller(analysis::Symbols& symbols, StackId stack, std::size_t column,
                          std::size_t indent) {
  if (!stack.valid()) return "(no call stack)";
  const analysis::CallSite place = symbols.SiteOf(stack);
  if (place.user.function.empty()) return "(no call stack)";
  const std::string site =
      CutMiddle(FrameLabel(place.user), kWidth - std::min<std::size_t>(column + 1, 40));
  std::string beside;
  if (place.in_library()) {
    beside = Cat("in ", FrameLabel(place.library));
  } else {
    const SourceFrame caller = symbols.CallerOf(stack);
    if (!caller.function.empty()) beside = Cat("from ", FrameLabel(caller));
  }
  if (beside.empty()) return site;
  if (column + Columns(site) + 2 + Columns(beside) <= kWidth) return Cat(site, ", ", beside);
  return Cat(site, ",\n", std::string(indent, ' '), CutMiddle(beside, kWidth - indent));
}

std::string FrameLabel(const SourceFrame& frame) {
  return Printable(analysis::FrameText(frame, NameStyle::kShort));
}

std::string StackLines(analysis::Symbols& symbols, analysis::StackId stack, std::size_t indent,
                       std::size_t max_frames) {
  std::string text;
  if (!stack.valid()) return text;
  const std::vector<SourceFrame> frames = symbols.SiteStack(stack);
  const std::string margin(indent, ' ');
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i == max_frames) {
      Append(text, margin, "… ", frames.size() - i, " more\n");
      break;
    }
    const SourceFrame& frame = frames[i];
    std::string where;
    if (!frame.file.empty()) {
      where = Cat(" at ", Printable(frame.file), frame.line > 0 ? Cat(":", frame.line) : "");
    } else if (!frame.module.empty()) {
      where = Cat(" in ", Printable(frame.module));
    }
    const std::string function =
        Printable(analysis::FunctionText(frame.function, NameStyle::kShort));
    const std::size_t room = 100 - std::min<std::size_t>(60, indent);
    const std::string name = CutMiddle(function, 56);
    Append(text, margin, name,
           CutFront(where, room > Columns(name) + 12 ? room - Columns(name) : 12), '\n');
  }
  return text;
}

std::string TensorShape(const analysis::TensorInfo* tensor) {
  if (tensor == nullptr) return "";
  std::string text = Printable(tensor->dtype);
  Append(text, text.empty() ? "[" : " [");
  for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
    Append(text, i == 0 ? "" : ", ", tensor->shape[i]);
  }
  return text + "]";
}

std::string TensorName(const analysis::TensorInfo* tensor) {
  return tensor == nullptr || tensor->name.empty() ? "(unnamed)" : Printable(tensor->name);
}

TimeNs StartTime(const analysis::Session& session) {
  const TimeNs start = session.run().start_time;
  const analysis::EventTable& events = session.events();
  const TimeNs first = events.first_time();
  return !events.empty() && (start == 0 || start > first) ? first : start;
}

std::string Since(const analysis::Session& session, TimeNs time) {
  const TimeNs start = StartTime(session);
  return analysis::FormatDuration(time > start ? time - start : 0);
}

std::string StepLabel(const analysis::Session& session, std::int64_t step) {
  if (session.steps().empty()) return "";
  return step < 0 ? " before the first step" : Cat(" at step ", step);
}

AnomalyText DescribeAnomaly(log::Anomaly anomaly) {
  struct Row {
    std::string_view name;
    log::Severity severity;
    std::string_view advice;
  };
#define MEMPROF_ANOMALY_ROW(identifier, name, severity, advice) \
  Row{name, log::Severity::severity, advice},
  static constexpr std::array kRows = {MEMPROF_ANOMALIES(MEMPROF_ANOMALY_ROW)};
#undef MEMPROF_ANOMALY_ROW
  const auto i = static_cast<std::size_t>(anomaly);
  if (i >= kRows.size()) return {"unknown", "unknown", ""};
  return {kRows[i].name, SeverityName(kRows[i].severity), kRows[i].advice};
}

std::string_view SourceStateName(int state) {
  switch (state) {
    case log::SOURCE_OFF:
      return "off";
    case log::SOURCE_ON:
      return "on";
    case log::SOURCE_REFUSED:
      return "refused";
    case log::SOURCE_LOST:
      return "lost";
    default:
      return "unknown";
  }
}

bool SourceWasOn(int state) { return state == log::SOURCE_ON || state == log::SOURCE_LOST; }

std::string_view EndReasonName(analysis::EndReason reason) {
  switch (reason) {
    case analysis::EndReason::kAlive:
      return "alive";
    case analysis::EndReason::kFreed:
      return "freed";
    case analysis::EndReason::kContextDestroyed:
      return "context_destroyed";
    case analysis::EndReason::kDeviceReset:
      return "device_reset";
    case analysis::EndReason::kAddressReused:
      return "address_reused";
    case analysis::EndReason::kSegmentFreed:
      return "segment_freed";
  }
  return "unknown";
}

bool Simulated(const analysis::Session& session) {
  for (const analysis::DeviceInfo& device : session.devices()) {
    if (device.simulated) return true;
  }
  return false;
}

}  // namespace memprof::cli
