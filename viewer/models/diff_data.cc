// Two runs, or two moments of one, compared: in words and rows.
#include "viewer/models/diff_data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/step_phase.h"

namespace memprof::viewer {
namespace {

using analysis::DiffFigureKind;
using analysis::DiffReport;
using analysis::DiffSite;
using analysis::Session;

QString FigureName(DiffFigureKind kind) {
  switch (kind) {
    case DiffFigureKind::kPeak:
      return Tr("peak");
    case DiffFigureKind::kReserved:
      return Tr("peak reserved");
    case DiffFigureKind::kLive:
      return Tr("live at the end");
    case DiffFigureKind::kFragmentation:
      return Tr("free share of segments at their peak");
    case DiffFigureKind::kGrowth:
      return Tr("growth per step, of leaks");
    case DiffFigureKind::kStepTime:
      return Tr("time of a step");
    case DiffFigureKind::kStepBytes:
      return Tr("allocated in a step");
    case DiffFigureKind::kStepCount:
      return Tr("allocations in a step");
    case DiffFigureKind::kSteps:
      return Tr("steps");
  }
  return {};
}

QString FigureValue(DiffFigureKind kind, double value) {
  switch (kind) {
    case DiffFigureKind::kStepTime:
      return FormatDuration(static_cast<analysis::TimeNs>(value));
    case DiffFigureKind::kFragmentation:
      return QStringLiteral("%1 %").arg(value, 0, 'f', 1);
    case DiffFigureKind::kStepCount:
    case DiffFigureKind::kSteps:
      return FormatCount(static_cast<std::uint64_t>(std::llround(std::max(0.0, value))));
    default:
      return FormatBytes(static_cast<std::uint64_t>(std::llround(std::max(0.0, value))));
  }
}

QString NameOfRun(const Session& session) {
  QString name = BaseName(ToQString(session.path()));
  if (!session.steps().empty())
    name += QStringLiteral(", ") + FormatPlural(session.steps().size(), Tr("step"));
  if (!session.run().complete) name += Tr(", not whole");
  return name;
}

QString NameOfMoment(const Session& session, analysis::TimeNs time) {
  const QString since = FormatInstant(session.SinceStart(time), 1'000'000);
  const std::int64_t step = session.StepAt(time);
  return step < 0 ? since : Tr("step %1, %2").arg(QString::number(step), since);
}

std::vector<DiffRow> SiteRows(const DiffReport& report, std::uint32_t only) {
  std::vector<DiffRow> rows;
  for (const DiffSite& site : report.sites) {
    if (only != analysis::StackAlignment::kNone && site.place != only) continue;
    // New or gone, but neither alive at the compared moment nor part of a steady step: nothing to
    // show.
    if (site.before == site.after && site.before_count == site.after_count &&
        site.before_step == site.after_step && site.before_growth == site.after_growth)
      continue;
    const analysis::AlignedPlace& place = report.alignment.places[site.place];
    DiffRow row;
    const bool known = !place.site.function.empty();
    row.name = known ? ShortSite(place.site) : Tr("(no call stack)");
    row.detail = known ? ToQString(analysis::Symbols::Describe(place.site)) : row.name;
    row.before = site.before;
    row.after = site.after;
    row.blocks =
        static_cast<std::int64_t>(site.after_count) - static_cast<std::int64_t>(site.before_count);
    row.step = site.after_step - site.before_step;
    row.growth = site.after_growth - site.before_growth;
    row.fresh = site.fresh;
    row.gone = site.gone;
    row.within_variation = site.within_variation();
    row.place = site.place;
    row.before_stack = place.before;
    row.after_stack = place.after;
    rows.push_back(std::move(row));
  }
  return rows;
}

DiffRow ShareRow(std::string_view name, const analysis::DiffShare& share) {
  DiffRow row;
  row.name = row.detail = ToQString(name);
  row.before = share.before;
  row.after = share.after;
  row.fresh = share.before == 0 && share.after > 0;
  row.gone = share.after == 0 && share.before > 0;
  return row;
}

std::vector<DiffRow> GroupRows(const analysis::DiffGroups& groups, DiffBy by) {
  std::vector<DiffRow> rows;
  const auto add = [&rows](std::string_view name, const analysis::DiffShare& share) {
    if (share.before + share.after > 0) rows.push_back(ShareRow(name, share));
  };
  if (by == DiffBy::kCategory) {
    for (std::size_t i = 0; i < analysis::kCategoryCount; ++i)
      add(analysis::CategoryName(static_cast<analysis::Category>(i)), groups.categories[i]);
  } else {
    for (std::size_t i = 0; i < groups.layers.size(); ++i)
      add(analysis::LayerName(static_cast<analysis::Layer>(i)), groups.layers[i]);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const DiffRow& a, const DiffRow& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  return rows;
}

void MakeCategories(DiffSource* source) {
  if (source->categories != nullptr) return;
  source->categories =
      std::make_shared<const analysis::Categories>(*source->session, source->symbols.get());
}

// What passes the filter on both sides. Conditions that only apply to one log (a process, a call
// site) are not used for the other; the call site is applied to the rows.
struct Passing {
  std::shared_ptr<const analysis::AllocationSet> before, after;

  Passing(const DiffQuestion& question) {
    analysis::AllocationFilter filter = question.filter;
    filter.site.reset();
    if (!question.moments) filter.process.reset();
    if (filter.everything()) return;
    const auto matching = [&filter](const DiffSource& side) {
      return std::make_shared<const analysis::AllocationSet>(
          analysis::Matching(*side.session, *side.symbols, side.categories.get(), filter));
    };
    if (!question.moments) before = matching(question.before);
    // The window's filter is about the call site, too: then it is another set.
    const bool known = question.moments && question.passing != nullptr && !question.filter.site;
    after = known ? question.passing : matching(question.after);
    if (question.moments) before = after;
  }
};

// Whether the moments have the same place of two steps now. Moments outside of all steps, or in one
// step, stay as they are.
bool Align(DiffQuestion* question) {
  const Session& session = *question->after.session;
  if (question->align == DiffAlign::kFrom) {
    const auto same = SamePlaceIn(session, question->to, 2);
    if (same) question->from = *same;
    return same.has_value();
  }
  if (question->align == DiffAlign::kNone) return false;
  const auto from = PlaceInStep(session, question->from), to = PlaceInStep(session, question->to);
  if (!from || !to || from->step == to->step) return false;
  const auto same = SamePlaceIn(session, question->from, to->step);
  if (same) question->to = *same;
  return same.has_value();
}

std::uint32_t PlaceOfFilter(const DiffQuestion& question, const DiffReport& report) {
  if (!question.filter.site) return analysis::StackAlignment::kNone;
  const auto& rows = question.this_is_before ? report.alignment.before : report.alignment.after;
  return analysis::StackAlignment::Of(rows, *question.filter.site);
}

std::vector<DiffRow> RowsOf(const DiffQuestion& question, const DiffReport& report,
                            std::uint32_t only) {
  if (question.by == DiffBy::kSite) return SiteRows(report, only);
  const DiffSource &before = question.before, &after = question.after;
  return GroupRows(question.moments
                       ? analysis::GroupMoments(*after.session, *after.categories,
                                                after.session->EventAt(question.from),
                                                after.session->EventAt(question.to))
                       : analysis::GroupRuns(*before.session, *before.categories, *after.session,
                                             *after.categories, question.at),
                   question.by);
}

std::vector<DiffFigureRow> FigureRows(const DiffReport& report, bool moments) {
  std::set<int> devices;
  for (const analysis::DiffFigure& figure : report.figures)
    if (figure.device != analysis::kNoDevice) devices.insert(figure.device);
  std::vector<DiffFigureRow> rows;
  for (const analysis::DiffFigure& figure : report.figures) {
    rows.push_back(DescribeFigure(figure, devices.size() > 1));
    if (!moments) continue;
    if (figure.kind == DiffFigureKind::kLive)
      rows.back().name.replace(FigureName(figure.kind), Tr("driver memory"));
    if (figure.kind == DiffFigureKind::kReserved)
      rows.back().name.replace(FigureName(figure.kind), Tr("reserved"));
    if (figure.kind == DiffFigureKind::kFragmentation)
      rows.back().name = Tr("free share of segments");
  }
  return rows;
}

}  // namespace

QString SignedBytes(std::int64_t bytes) {
  if (bytes == 0) return QStringLiteral("=");
  return (bytes > 0 ? QStringLiteral("+") : QStringLiteral("-")) +
         FormatBytes(static_cast<std::uint64_t>(std::abs(bytes)));
}

DiffFigureRow DescribeFigure(const analysis::DiffFigure& figure, bool several_devices) {
  DiffFigureRow row;
  row.name = FigureName(figure.kind);
  if (several_devices && figure.device != analysis::kNoDevice)
    row.name += Tr(", device %1").arg(figure.device);
  row.before = FigureValue(figure.kind, figure.before);
  row.after = FigureValue(figure.kind, figure.after);
  row.difference = figure.change();
  if (figure.change() == 0) {
    row.change = QStringLiteral("=");
    return row;
  }
  const QString sign = figure.change() > 0 ? QStringLiteral("+") : QStringLiteral("-");
  row.change = sign + FigureValue(figure.kind, std::abs(figure.change()));
  if (figure.kind == DiffFigureKind::kFragmentation) return row;  // points, not a share of a share
  if (figure.before == 0) {
    row.note = Tr("new");
  } else {
    row.note = sign + FormatPercent(std::abs(figure.change()) / figure.before);
    if (figure.within_variation()) row.note += Tr(", within variation");
  }
  return row;
}

std::shared_ptr<const DiffData> Compare(DiffQuestion question,
                                        const std::function<void(double)>& progress,
                                        std::stop_token stop) {
  auto data = std::make_shared<DiffData>();
  const bool categories = question.by == DiffBy::kCategory || question.filter.category.has_value();
  if (categories || question.by == DiffBy::kLayer) {
    MakeCategories(&question.before);
    if (question.moments) question.after.categories = question.before.categories;
    MakeCategories(&question.after);
  }
  if (stop.stop_requested()) return nullptr;
  const Passing passing(question);
  if (stop.stop_requested()) return nullptr;
  analysis::DiffOptions options;
  options.before = passing.before.get();
  options.after = passing.after.get();
  options.stop = stop;
  options.progress = progress;
  const Session &before = *question.before.session, &after = *question.after.session;
  if (question.moments) {
    if (Align(&question)) data->place = CommonPlace(after, question.from, question.to);
    if (question.run == nullptr)
      question.run = std::make_shared<const analysis::MomentDiff>(after, *question.after.symbols,
                                                                  stop, progress);
    if (stop.stop_requested()) return nullptr;
    data->report = question.run->Compare(after.EventAt(question.from), after.EventAt(question.to),
                                         passing.after);
  } else {
    data->report = analysis::DiffRuns(before, *question.before.symbols, after,
                                      *question.after.symbols, question.at, options);
  }
  if (stop.stop_requested()) return nullptr;
  data->passing_before = passing.before;
  data->passing_after = passing.after;
  data->only = PlaceOfFilter(question, data->report);
  data->rows = RowsOf(question, data->report, data->only);
  data->figures = FigureRows(data->report, question.moments);
  data->before = question.moments ? NameOfMoment(after, question.from) : NameOfRun(before);
  data->after = question.moments ? NameOfMoment(after, question.to) : NameOfRun(after);
  data->question = std::move(question);
  return data;
}

}  // namespace memprof::viewer
