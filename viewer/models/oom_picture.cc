// The content of the page on failed requests.
#include "viewer/models/oom_picture.h"

#include <algorithm>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"

namespace memprof::viewer {
namespace {

using analysis::DeviceSpace;
using analysis::FailedRequest;
using analysis::FailureReport;
using analysis::Headroom;
using analysis::Remedy;
using analysis::RemedyKind;
using analysis::Session;
using analysis::SpaceKind;
using analysis::TimeNs;

constexpr std::size_t kMaxParts = 6;     // sites in the bar, beside the rest
constexpr std::size_t kMaxSites = 1000;  // in the tables

TimeNs Since(const Session& session, TimeNs time) {
  const TimeNs start = std::min(session.run().start_time, session.events().first_time());
  return time - std::min(time, start);
}

PartStyle StyleOf(SpaceKind kind) {
  switch (kind) {
    case SpaceKind::kBlocks:
    case SpaceKind::kRounding:
    case SpaceKind::kDirect:
      return PartStyle::kCategorical;
    case SpaceKind::kOwnPool:
    case SpaceKind::kOtherPools:
    case SpaceKind::kPrivatePools:
    case SpaceKind::kForeign:
    case SpaceKind::kCached:
    case SpaceKind::kReserve:
      return PartStyle::kHole;
    case SpaceKind::kModules:
    case SpaceKind::kOthers:
    case SpaceKind::kUntracked:
      return PartStyle::kUnknown;
    case SpaceKind::kFree:
      return PartStyle::kFree;
  }
  return PartStyle::kUnknown;
}

// Whether this part of the space is live memory, which sites or categories divide.
bool IsLive(SpaceKind kind) {
  return kind == SpaceKind::kBlocks || kind == SpaceKind::kRounding || kind == SpaceKind::kDirect;
}

// `live` first, then one part for the rest of the live bytes, then the rest of the space.
ByteBar BarOf(std::vector<ByteBarPart> live, const std::vector<analysis::SpacePart>& parts) {
  ByteBar bar;
  std::uint64_t named = 0, all = 0;
  for (const ByteBarPart& part : live) named += part.bytes;
  for (const analysis::SpacePart& part : parts) all += IsLive(part.kind) ? part.bytes : 0;
  bar.parts = std::move(live);
  if (all > named)
    bar.parts.push_back(
        {QObject::tr("other live memory"), all - named, PartStyle::kCategorical, -1, {}, {}});
  for (const analysis::SpacePart& part : parts) {
    if (IsLive(part.kind)) continue;
    const QString words = Words(part.words);
    bar.parts.push_back({words.section(QStringLiteral(" ("), 0, 0),
                         part.bytes,
                         StyleOf(part.kind),
                         -1,
                         QObject::tr("%1: %2").arg(Capitalised(words), FormatBytes(part.bytes)),
                         {}});
  }
  return bar;
}

std::vector<ByteBarPart> SiteParts(const OomExplainer::Explained& explained) {
  std::vector<ByteBarPart> parts;
  for (const analysis::SiteUse& use : explained.report.sites) {
    const QString name = explained.site_names.at(use.site);
    ByteBarPart part;
    part.name = name;
    part.bytes = use.bytes;
    part.tip =
        QObject::tr("%1\n%2 in %3")
            .arg(name, FormatBytes(use.bytes), FormatPlural(use.count, QObject::tr("piece")));
    part.site = explained.sites.at(use.site);
    parts.push_back(std::move(part));
  }
  return TopParts(std::move(parts), kMaxParts, QObject::tr("%1 other call sites"));
}

// Empty if the categories do not add up to the live memory.
std::vector<ByteBarPart> CategoryParts(const analysis::Categories& categories, int device,
                                       analysis::EventId event, std::uint64_t live) {
  const analysis::CategoryTotals totals = categories.At(device, event);
  std::vector<ByteBarPart> parts;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    const auto category = static_cast<analysis::Category>(i);
    if (category == analysis::Category::kSlack) continue;
    sum += totals.bytes[i];
    ByteBarPart part;
    part.name = ToQString(CategoryName(category));
    part.bytes = totals.bytes[i];
    parts.push_back(std::move(part));
  }
  if (sum == 0 || sum > live) return {};
  return TopParts(std::move(parts), analysis::kCategoryCount, QStringLiteral("%1"));
}

ByteBar ScaleBar(const QString& label, std::uint64_t bytes, PartStyle style) {
  ByteBar bar;
  bar.label = label;
  bar.value = FormatBytes(bytes);
  bar.parts.push_back({{}, bytes, style, -1, QObject::tr("%1: %2").arg(label, bar.value), {}});
  return bar;
}

// The request, and below it the free memory, on one scale.
std::vector<ByteBar> ScaleBars(const FailureReport& report) {
  const FailedRequest& request = report.request;
  const DeviceSpace& space = report.space;
  std::vector<ByteBar> bars;
  if (request.bytes == 0 || request.device == analysis::kNoDevice) return bars;
  bars.push_back(ScaleBar(QObject::tr("Requested"), request.bytes, PartStyle::kDanger));
  if (request.framework && request.driver_bytes > request.bytes)
    bars.push_back(ScaleBar(QObject::tr("Segment requested from the driver"), request.driver_bytes,
                            PartStyle::kDanger));
  const bool allocator = space.own_pool.count + space.other_pools.count + space.cached.count > 0;
  if (request.framework) {
    bars.push_back(
        ScaleBar(QObject::tr("Largest hole it could use"), space.largest_own, PartStyle::kHole));
    bars.push_back(ScaleBar(QObject::tr("Largest hole of other pools"), space.largest_other,
                            PartStyle::kHole));
  } else if (allocator) {
    bars.push_back(ScaleBar(QObject::tr("Largest hole of the allocator"),
                            std::max(space.largest_own, space.largest_other), PartStyle::kHole));
  }
  const std::uint64_t holes = space.own_pool.bytes + space.other_pools.bytes + space.cached.bytes;
  // If all holes together are much larger than the request, the other bars would be too short to
  // compare: then only the table has this figure.
  if (allocator && holes / 16 <= std::max(request.bytes, request.driver_bytes))
    bars.push_back(ScaleBar(QObject::tr("All holes together"), holes, PartStyle::kHole));
  if (space.total > 0)
    bars.push_back(ScaleBar(QObject::tr("Free at the driver"), space.free, PartStyle::kGood));
  return bars;
}

std::vector<FactRow> SpaceRows(const FailureReport& report,
                               const std::vector<analysis::SpacePart>& parts) {
  std::vector<FactRow> rows;
  const auto whole = static_cast<double>(std::max<std::uint64_t>(SpaceWhole(report.space), 1));
  for (const analysis::SpacePart& part : parts) {
    FactRow row;
    const double share = static_cast<double>(part.bytes) / whole;
    row.cells = {FactCell::Bytes(part.bytes), FactCell::Number(FormatPercent(share), share),
                 Capitalised(Words(part.words))};
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<FactRow> RemedyRows(const Session& session, const OomExplainer::Explained& explained) {
  std::vector<FactRow> rows;
  for (std::size_t i = 0; i < explained.report.remedies.size(); ++i) {
    const Remedy& remedy = explained.report.remedies[i];
    FactRow row;
    row.key = i;
    if (!remedy.blocks.empty()) {
      row.allocation = remedy.blocks.front();
      row.site = session.record(row.allocation).stack;
    } else if (!remedy.sites.empty()) {
      row.site = explained.sites.at(remedy.sites.front().site);
    }
    const bool at_most = remedy.kind == RemedyKind::kSmallerRequest;
    FactCell missing;
    if (remedy.short_by > 0 && !at_most) missing = FactCell::Bytes(remedy.short_by);
    FactCell fits(remedy.fits ? QObject::tr("✓ yes") : QObject::tr("no"));
    fits.raw = remedy.fits ? QStringLiteral("yes") : QStringLiteral("no");
    row.cells = {fits, Capitalised(explained.remedies[i]), FactCell::Bytes(remedy.bytes), missing};
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<FactRow> LiveRows(const OomExplainer::Explained& explained) {
  std::vector<FactRow> rows;
  const auto whole =
      static_cast<double>(std::max<std::uint64_t>(SpaceWhole(explained.report.space), 1));
  for (std::size_t i = 0; i < std::min(explained.report.sites.size(), kMaxSites); ++i) {
    const analysis::SiteUse& use = explained.report.sites[i];
    const double share = static_cast<double>(use.bytes) / whole;
    FactRow row;
    row.site = explained.sites.at(use.site);
    row.cells = {FactCell::Bytes(use.bytes), FactCell::Number(FormatPercent(share), share),
                 FactCell::Count(use.count), explained.site_names.at(use.site)};
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<FactRow> ChangeRows(const OomExplainer::Explained& explained) {
  std::vector<FactRow> rows;
  for (std::size_t i = 0; i < std::min(explained.report.changes.size(), kMaxSites); ++i) {
    const analysis::SiteChange& change = explained.report.changes[i];
    const double by = static_cast<double>(change.after) - static_cast<double>(change.before);
    FactRow row;
    row.site = explained.sites.at(change.site);
    row.cells = {FactCell::Number(FormatSignedBytes(by), by), FactCell::Bytes(change.before),
                 FactCell::Bytes(change.after), explained.site_names.at(change.site)};
    rows.push_back(std::move(row));
  }
  return rows;
}

QString Headline(const Session& session, const FailedRequest& request) {
  QString text = request.bytes > 0 ? FormatBytes(request.bytes) : QObject::tr("A call");
  if (request.device != analysis::kNoDevice)
    text += QObject::tr(" on device %1").arg(request.device);
  if (request.step >= 0) text += QObject::tr(" at step %1").arg(request.step);
  return text + QObject::tr(", after %1").arg(FormatDuration(Since(session, request.time)));
}

}  // namespace

std::vector<FactColumn> FailureColumns() {
  return {{QObject::tr("After"), true, {}},
          {QObject::tr("Step"), true, {}},
          {QObject::tr("Requested"), true, {}},
          {QObject::tr("Requested by"), false, {}, true},
          {QObject::tr("Then"), false,
           QObject::tr("Whether a later attempt of the same thread succeeded")}};
}

std::shared_ptr<const FailuresPicture> MakeFailuresPicture(
    const std::shared_ptr<const Session>& session,
    const std::shared_ptr<analysis::Symbols>& symbols) {
  auto picture = std::make_shared<FailuresPicture>();
  picture->failures = analysis::FindFailures(*session);
  if (picture->failures.empty()) {
    picture->rooms = analysis::FindHeadroom(*session);
    return picture;
  }
  picture->explainer = std::make_shared<OomExplainer>(session, symbols);
  bool for_good = false;
  for (std::size_t i = 0; i < picture->failures.size(); ++i) {
    const FailedRequest& request = picture->failures[i];
    const TimeNs since = Since(*session, request.time);
    FactRow row;
    row.key = i;
    row.site = request.stack;
    row.time = request.time;
    FactCell step;
    if (request.step >= 0)
      step = FactCell::Number(QString::number(request.step), static_cast<double>(request.step));
    row.cells = {FactCell::Number(FormatDuration(since), static_cast<double>(since) * 1e-9), step,
                 FactCell::Bytes(request.bytes), picture->explainer->SiteOf(request),
                 request.recovered ? QObject::tr("succeeded") : QString()};
    picture->rows.push_back(std::move(row));
    if (!request.recovered || !for_good) picture->first = static_cast<int>(i);
    for_good |= !request.recovered;
  }
  return picture;
}

std::vector<FactColumn> SpaceColumns() {
  return {{QObject::tr("Bytes"), true, {}},
          {QObject::tr("Share"), true, {}},
          {QObject::tr("What"), false, {}}};
}
std::vector<FactColumn> RemedyColumns() {
  return {{QObject::tr("Fits"), false, {}},
          {QObject::tr("With"), false, {}},
          {QObject::tr("Gives"), true, QObject::tr("Bytes that it makes available")},
          {QObject::tr("Still short"), true, QObject::tr("What would be missing even then")}};
}
std::vector<FactColumn> LiveColumns() {
  return {{QObject::tr("Bytes"), true, {}},
          {QObject::tr("Share"), true, {}},
          {QObject::tr("Pieces"), true, {}},
          {QObject::tr("Call site"), false, {}, true}};
}
std::vector<FactColumn> ChangeColumns() {
  return {{QObject::tr("Change"), true, {}},
          {QObject::tr("Before"), true, {}},
          {QObject::tr("Now"), true, {}},
          {QObject::tr("Call site"), false, {}, true}};
}

std::shared_ptr<const OomPicture> MakeOomPicture(const Session& session, OomExplainer& explainer,
                                                 const analysis::Categories* categories,
                                                 const FailedRequest& request) {
  const OomExplainer::Explained explained = explainer.Explain(request);
  const FailureReport& report = explained.report;
  auto picture = std::make_shared<OomPicture>();
  picture->request = request;
  picture->cause = report.cause;
  picture->headline = Headline(session, request);
  picture->verdict = explained.verdict;
  picture->requested_by = explained.requested_by;
  picture->driver_call = explained.driver_call;
  picture->whole = SpaceWhole(report.space);
  picture->whole_is_capacity = report.space.total > 0;
  const std::vector<analysis::SpacePart> parts = SpaceParts(report);
  std::uint64_t live = 0;
  for (const analysis::SpacePart& part : parts) live += IsLive(part.kind) ? part.bytes : 0;
  picture->by_site = BarOf(SiteParts(explained), parts);
  if (categories != nullptr && request.device != analysis::kNoDevice) {
    std::vector<ByteBarPart> named =
        CategoryParts(*categories, request.device, session.EventAt(request.time), live);
    if (!named.empty()) picture->by_category = BarOf(std::move(named), parts);
  }
  picture->scale = ScaleBars(report);
  picture->space = SpaceRows(report, parts);
  picture->remedies = RemedyRows(session, explained);
  picture->live = LiveRows(explained);
  picture->changes = ChangeRows(explained);
  picture->held_by = report.held_by;
  for (const analysis::SiteUse& use : report.sites) {
    picture->live_bytes += use.bytes;
    picture->live_pieces += use.count;
  }
  if (report.compared_step >= 0)
    picture->since = (report.same_call ? QObject::tr("Since the same call in step %1: %2")
                                       : QObject::tr("Since the end of step %1: %2"))
                         .arg(report.compared_step)
                         .arg(FormatSignedBytes(static_cast<double>(report.live_after) -
                                                static_cast<double>(report.live_before)));
  return picture;
}

QString HeadroomSentence(const Session& session, const std::vector<Headroom>& rooms) {
  const Headroom* tightest = nullptr;
  for (const Headroom& room : rooms) {
    if (room.total == 0) continue;
    const auto left = [](const Headroom& r) {
      return static_cast<double>(r.lowest) / static_cast<double>(r.total);
    };
    if (tightest == nullptr || left(room) < left(*tightest)) tightest = &room;
  }
  if (tightest == nullptr)
    return QObject::tr(
        "No request for memory failed. How near it came is not known: the log does not show how "
        "much memory its devices have.");
  QString when = FormatDuration(Since(session, tightest->time));
  if (tightest->step >= 0) when += QObject::tr(" (step %1)").arg(tightest->step);
  QString text = QObject::tr(
                     "No request for memory failed. Device %1 came nearest: at least %2 of %3 (%4) "
                     "were left, at %5.")
                     .arg(tightest->device)
                     .arg(FormatBytes(tightest->lowest), FormatBytes(tightest->total),
                          FormatPercent(static_cast<double>(tightest->lowest) /
                                        static_cast<double>(tightest->total)),
                          when);
  if (tightest->reusable > 0)
    text += QObject::tr(" Allocators had another %1 free in their segments then.")
                .arg(FormatBytes(tightest->reusable));
  return text;
}

std::vector<ByteBar> HeadroomBars(const std::vector<Headroom>& rooms) {
  std::vector<ByteBar> bars;
  for (const Headroom& room : rooms) {
    if (room.total == 0) continue;
    const std::uint64_t used = room.total - std::min(room.total, room.lowest);
    const std::uint64_t reusable = std::min(room.reusable, used);
    ByteBar bar;
    bar.label = QObject::tr("Device %1").arg(room.device);
    bar.value = QObject::tr("%1 left of %2").arg(FormatBytes(room.lowest), FormatBytes(room.total));
    bar.parts.push_back({QObject::tr("in use"), used - reusable, PartStyle::kAccent, -1, {}, {}});
    bar.parts.push_back(
        {QObject::tr("cached in segments"), reusable, PartStyle::kHole, -1, {}, {}});
    bar.parts.push_back({QObject::tr("left"), room.lowest, PartStyle::kFree, -1, {}, {}});
    bars.push_back(std::move(bar));
  }
  return bars;
}

}  // namespace memprof::viewer
