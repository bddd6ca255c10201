// Finds what a link names.
#include "viewer/models/link_target.h"

#include <algorithm>
#include <utility>

#include "analysis/symbols/site_key.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/plain_line.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::Session;
using analysis::SourceFrame;
using analysis::StackId;
using analysis::TimeNs;

QString PlaceOf(const SourceFrame& frame) {
  if (frame.file.empty() || frame.line <= 0) return ToQString(frame.function);
  return QStringLiteral("%1:%2").arg(BaseName(ToQString(frame.file))).arg(frame.line);
}

// "src/history.cc:9" is the place of "/home/a/src/history.cc:9".
bool IsAt(const SourceFrame& frame, const QString& place) {
  if (ToQString(frame.function) == place) return true;
  const QString whole = QStringLiteral("/%1:%2").arg(ToQString(frame.file)).arg(frame.line);
  return whole.endsWith(QLatin1Char('/') + place);
}

// The bytes that each call stack requested.
std::vector<std::uint64_t> BytesByStack(const Session& session) {
  std::vector<std::uint64_t> bytes(session.stack_count(), 0);
  for (const analysis::AllocationRecord& record : session.records())
    if (record.stack.value < bytes.size()) bytes[record.stack.value] += record.bytes + 1;
  return bytes;
}

StackId FindSite(const LinkSession& in, const LinkedSite& site, const std::stop_token& stop) {
  const std::vector<std::uint64_t> bytes = BytesByStack(*in.session);
  StackId best;
  bool best_is_named = false;
  for (std::uint32_t i = 0; i < bytes.size() && !stop.stop_requested(); ++i) {
    const StackId stack(i);
    if (bytes[i] == 0) continue;
    const bool at = !site.place.isEmpty() && IsAt(in.symbols->Site(stack), site.place);
    if (!at && !site.place.isEmpty()) continue;
    const bool named = !site.stack.isEmpty() && StackHash(*in.symbols, stack) == site.stack;
    // Without its stack, as in another version of the program, a place is still a place.
    if (!named && !at) continue;
    const bool better =
        !best.valid() || std::pair(named, bytes[i]) > std::pair(best_is_named, bytes[best.value]);
    if (!better) continue;
    best = stack;
    best_is_named = named;
  }
  return best;
}

AllocationId FindLinked(const LinkSession& in, const LinkedAllocation& name) {
  const analysis::AllocationList all = in.session->allocations();
  const TimeNs birth = in.bounds.begin + name.birth;
  const auto first = std::partition_point(
      all.begin(), all.end(),
      [birth](const analysis::Allocation& one) { return one.birth_time < birth; });
  for (auto at = first; at != all.end() && (*at).birth_time == birth; ++at)
    if ((*at).address == name.address && (*at).layer == name.layer)
      return AllocationId(static_cast<std::uint32_t>(at - all.begin()));
  return {};
}

class TargetFinder {
 public:
  TargetFinder(const LinkSession& in, const Link& link, int device, const std::stop_token& stop)
      : in_(in), link_(link), device_(link.device.value_or(device)), stop_(stop) {}

  LinkTarget Find() {
    FindDevice();
    if (link_.at) target_.instant = Instant(*link_.at, true);
    if (link_.window) FindWindow();
    if (!link_.site.empty()) target_.site = Site(link_.site);
    if (link_.allocation) {
      target_.allocation = FindLinked(in_, *link_.allocation);
      if (!target_.allocation.valid())
        Miss(Tr("the allocation of the link"));
      else
        target_.site = in_.session->record(target_.allocation).stack;
    }
    FindFilter();
    FindFile();
    return std::move(target_);
  }

 private:
  void Miss(const QString& what) { target_.problems << Tr("%1 is not in this log").arg(what); }

  void FindDevice() {
    if (!link_.device) return;
    const auto devices = in_.session->devices();
    const bool known =
        *link_.device == analysis::kNoDevice ||
        std::any_of(devices.begin(), devices.end(), [this](const analysis::DeviceInfo& device) {
          return device.id == *link_.device;
        });
    if (known) target_.device = link_.device;
    if (!known) Miss(Tr("device %1").arg(*link_.device));
  }

  // Of a step its end, where its memory is known; the begin of a window is the step's begin.
  std::optional<TimeNs> Instant(const Moment& moment, bool end) {
    const Session& session = *in_.session;
    switch (moment.kind) {
      case Moment::Kind::kTime:
        return in_.bounds.begin + std::min(moment.value, in_.bounds.end - in_.bounds.begin);
      case Moment::Kind::kStep:
        for (const analysis::StepInfo& step : session.steps())
          if (static_cast<std::uint64_t>(step.number) == moment.value)
            return end ? std::max(step.begin, step.end - 1) : step.begin;
        Miss(Tr("step %1").arg(moment.value));
        return std::nullopt;
      case Moment::Kind::kEvent:
        if (moment.value < session.events().size())
          return session.events().time(static_cast<std::uint32_t>(moment.value));
        Miss(Tr("event %1").arg(moment.value));
        return std::nullopt;
      case Moment::Kind::kPeak:
        return Peak();
      case Moment::Kind::kEnd:
        break;
    }
    return in_.bounds.end;
  }

  std::optional<TimeNs> Peak() {
    if (in_.timelines != nullptr)
      for (const TimelineBands& bands : *in_.timelines)
        if (bands.device == device_ && !bands.in_use.empty()) return bands.in_use.time_of_max();
    return std::nullopt;
  }

  void FindWindow() {
    const auto begin = Instant(link_.window->first, false);
    const auto end = Instant(link_.window->second, true);
    if (!begin || !end) return;
    if (*begin < *end)
      target_.window = analysis::TimeWindow{*begin, *end};
    else
      target_.problems << Tr("the link's window ends before it begins");
  }

  StackId Site(const LinkedSite& name) {
    const StackId site = FindSite(in_, name, stop_);
    if (!site.valid()) Miss(Tr("the call site %1").arg(PlainLine(name.place, 60)));
    return site;
  }

  void FindFilter() {
    analysis::AllocationFilter filter = link_.filter;
    if (!link_.only.empty()) {
      if (const StackId site = Site(link_.only); site.valid()) filter.site = site;
    }
    if (link_.rank || link_.process) {
      filter.process = Process();
      if (!filter.process)
        Miss(link_.rank ? Tr("rank %1").arg(*link_.rank) : Tr("process %1").arg(*link_.process));
    }
    if (!filter.everything()) target_.filter = filter;
  }

  // Only a file that the log names is ever read. "src/history.cc" is "/home/a/src/history.cc".
  void FindFile() {
    target_.state = link_.state;
    const std::string name = std::exchange(target_.state.file, {}).toStdString();
    if (name.empty()) return;
    const std::string end = '/' + name;
    for (std::uint32_t i = 0; i < in_.session->stack_count() && !stop_.stop_requested(); ++i) {
      for (const SourceFrame& frame : in_.symbols->ResolveStack(StackId(i))) {
        if (frame.file != name && !frame.file.ends_with(end)) continue;
        target_.state.file = ToQString(frame.file);
        if (frame.file == name) return;
      }
    }
    if (target_.state.file.isEmpty()) Miss(Tr("the file %1").arg(ToQString(name)));
  }

  std::optional<std::uint32_t> Process() {
    const auto processes = in_.session->processes();
    for (std::uint32_t row = 0; row < processes.size(); ++row)
      if (link_.rank ? processes[row].rank == *link_.rank
                     : row == static_cast<std::uint32_t>(*link_.process))
        return row;
    return std::nullopt;
  }

  const LinkSession& in_;
  const Link& link_;
  const int device_;
  const std::stop_token& stop_;
  LinkTarget target_;
};

LinkedSite NameOfSite(const LinkSession& in, StackId stack) {
  return {PlaceOf(in.symbols->Site(stack)), StackHash(*in.symbols, stack)};
}

}  // namespace

LinkTarget FindTarget(const LinkSession& in, const Link& link, int device,
                      const std::stop_token& stop) {
  return TargetFinder(in, link, device, stop).Find();
}

SelectionState StateOf(const Selection& selection) {
  SelectionState state{selection.device(), selection.axis(),       selection.instant(), {},
                       selection.filter(), selection.allocation(), selection.site()};
  const analysis::TimeWindow window = selection.window(), all = selection.bounds();
  if (window.begin != all.begin || window.end != all.end) state.window = window;
  return state;
}

Link LinkOf(const LinkSession& in, const SelectionState& state) {
  Link link;
  const auto since = [&in](TimeNs time) {
    return Moment{Moment::Kind::kTime, time - std::min(time, in.bounds.begin)};
  };
  if (state.axis == AxisKind::kSteps) link.axis = state.axis;
  link.device = state.device;
  link.at = since(state.instant);
  if (state.window) link.window = {since(state.window->begin), since(state.window->end)};
  if (state.site.valid()) link.site = NameOfSite(in, state.site);
  if (state.allocation.valid() && state.allocation.value < in.session->records().size()) {
    const analysis::Allocation one = in.session->allocation(state.allocation);
    link.allocation = LinkedAllocation{one.layer, one.address, since(one.birth_time).value};
  }
  link.filter = state.filter;
  if (link.filter.site) link.only = NameOfSite(in, *std::exchange(link.filter.site, {}));
  if (link.filter.process) {
    const std::uint32_t row = *std::exchange(link.filter.process, {});
    const auto processes = in.session->processes();
    if (row < processes.size() && processes[row].rank >= 0)
      link.rank = processes[row].rank;
    else
      link.process = static_cast<int>(row);
  }
  return link;
}

QString StackHash(analysis::Symbols& symbols, StackId stack) {
  return ToQString(analysis::StackHashText(symbols, stack));
}

}  // namespace memprof::viewer
