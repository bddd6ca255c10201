// The highest peak, and what it consisted of.
#include <QObject>
#include <algorithm>
#include <map>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/models/verdict_sentence.h"

namespace memprof::viewer {
namespace {

// The two call sites that held most at a peak.
std::vector<std::pair<VerdictPart, std::uint64_t>> LargestSites(const VerdictInput& input,
                                                                const VerdictPeak& peak) {
  std::vector<analysis::Site> sites = analysis::GroupBySite(*input.session, peak.peak->blocks);
  if (sites.empty()) sites = peak.peak->sites;
  // Stacks of one line are one site. Only the largest can matter.
  constexpr std::size_t kMost = 200;
  if (sites.size() > kMost) sites.resize(kMost);
  std::map<QString, std::pair<std::uint64_t, analysis::StackId>> bytes;
  for (const analysis::Site& site : sites) {
    auto& of = bytes[SiteName(*input.symbols, site.stack)];
    if (of.first == 0) of.second = site.stack;
    of.first += site.bytes;
  }
  std::vector<std::pair<VerdictPart, std::uint64_t>> found;
  for (const auto& [name, of] : bytes) {
    VerdictTarget target = ToSite(of.second, peak.device);
    target.instant = peak.time;
    found.emplace_back(
        VerdictPart{name, target, QObject::tr("Select this call site: %1").arg(name), true},
        of.first);
  }
  return found;
}

// Its categories, if most of it has one; else its call sites. The largest two. None while the
// categories are not known, so that the sentence does not change twice.
std::vector<std::pair<VerdictPart, std::uint64_t>> LargestParts(const VerdictInput& input,
                                                                const VerdictPeak& peak) {
  std::vector<std::pair<VerdictPart, std::uint64_t>> found;
  if (peak.peak == nullptr || input.categories == nullptr) return found;
  {
    const analysis::CategoryTotals totals = input.categories->At(
        peak.device, peak.blocks_only ? input.session->EventAt(peak.time) : peak.peak->event);
    for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
      const auto category = static_cast<analysis::Category>(i);
      VerdictTarget target;
      target.view = VerdictView::kCategories;
      target.device = peak.device;
      target.instant = peak.time;
      found.emplace_back(VerdictPart{ToQString(analysis::CategoryName(category)), target,
                                     QObject::tr("Show the timeline by category")},
                         totals.bytes[i]);
    }
    const std::uint64_t known = totals.total() - totals.bytes[0] -
                                totals.bytes[static_cast<std::size_t>(analysis::Category::kSlack)];
    if (known < totals.bytes[0]) found.clear();
    std::erase_if(found, [](const auto& part) {
      return part.first.text == ToQString(analysis::CategoryName(analysis::Category::kUnknown));
    });
  }
  if (found.empty()) found = LargestSites(input, peak);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (found.size() > 2) found.resize(2);
  std::erase_if(found, [](const auto& part) { return part.second == 0; });
  return found;
}

VerdictPeak HighestPeak(const VerdictInput& input) {
  VerdictPeak highest = FindVerdictPeak(input, analysis::kNoDevice);
  bool device = false;
  for (const analysis::Peak& one : input.report->report.peaks) {
    const VerdictPeak peak = FindVerdictPeak(input, one.device);
    if (peak.bytes == 0 || (device && peak.bytes <= highest.bytes)) continue;
    highest = peak;
    device = true;
  }
  return highest;
}

}  // namespace

VerdictPeak FindVerdictPeak(const VerdictInput& input, int device) {
  VerdictPeak found;
  found.device = device;
  const TimelineBands* bands = input.Bands(device);
  if (device == analysis::kNoDevice) {
    if (bands == nullptr) return found;
    found.bytes = bands->allocated.max();
    found.time = bands->allocated.time_of_max();
    found.step = input.session->StepAt(found.time);
    return found;
  }
  for (const analysis::Peak& peak : input.report->report.peaks)
    if (peak.device == device) found.peak = &peak;
  if (found.peak == nullptr) return found;
  found.bytes = found.peak->bytes;
  found.time = found.peak->time;
  found.step = found.peak->step;
  // A snapshot may contain only blocks: the amount of driver memory is unknown then.
  if (found.bytes == 0 && bands != nullptr && bands->in_use.max() > 0) {
    found.blocks_only = true;
    found.bytes = bands->in_use.max();
    found.time = bands->in_use.time_of_max();
    found.step = input.session->StepAt(found.time);
  }
  return found;
}

void SayPeak(Sentence& sentence, const VerdictInput& input) {
  const VerdictPeak peak = HighestPeak(input);
  if (peak.bytes == 0) {
    sentence.Say(QObject::tr(" The log has no allocation."));
    return;
  }
  VerdictTarget target;
  target.view = VerdictView::kTimeline;
  target.device = peak.device;
  target.instant = peak.time;
  const bool host = peak.device == analysis::kNoDevice;
  sentence.Say(host               ? QObject::tr(" No device memory; of the host at most ")
               : peak.blocks_only ? QObject::tr(" Peak in use ")
                                  : QObject::tr(" Peak "));
  sentence.Link(FormatBytes(peak.bytes), target, QObject::tr("Show the peak in the timeline"))
      .Say(input.report->report.peaks.size() > 1 ? QObject::tr(" on device %1").arg(peak.device)
                                                 : QString())
      .Say(peak.step >= 0 ? QObject::tr(" at ") : QObject::tr(" after "))
      .Link(VerdictInstant(*input.session, peak.step, peak.time), target,
            QObject::tr("Show the peak in the timeline"));
  bool first = true;
  for (const auto& [part, bytes] : LargestParts(input, peak)) {
    VerdictTarget of = *part.target;
    sentence.Optional().Say(std::exchange(first, false) ? QObject::tr(": most is ")
                                                        : QObject::tr(", then "));
    if (part.name)
      sentence.Name(part.text, of).Say(QStringLiteral(" "));
    else
      sentence.Link(part.text, of, part.help).Say(QStringLiteral(" "));
    sentence.Link(FormatBytes(bytes), of, part.help);
  }
}

}  // namespace memprof::viewer
