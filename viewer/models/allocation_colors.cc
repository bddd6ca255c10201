// The colours of allocations and their meaning.
#include "viewer/models/allocation_colors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "viewer/geometry/names.h"
#include "viewer/geometry/timeline_bands.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationRecord;
using analysis::StackId;
using analysis::TimeNs;

constexpr int kRampSteps = 24;

// Gives every row the colour that it has without a filter and a selected site: fills the legend,
// the colours, and returns the function from a row to its colour.
class Scheme {
 public:
  virtual ~Scheme() = default;
  virtual std::uint8_t Of(std::size_t row) const = 0;

  std::vector<QColor> colors;
  std::vector<AllocationColors::Entry> legend;
  QString missing;
};

class SiteScheme : public Scheme {
 public:
  explicit SiteScheme(const AllocationColorInputs& in) : index_(*in.index) {
    const analysis::Session& session = index_.session();
    std::vector<double> area(session.stack_count() + 1, 0);  // the last: without a stack
    for (std::size_t row = 0; row < index_.size(); ++row) {
      const TimeNs end = std::min(index_.CoarseDeath(row), index_.bounds().end);
      const TimeNs begin = std::min(index_.CoarseBirth(row), end);
      area[Slot(session.record(index_.id(row)).stack, area.size())] +=
          (index_.high(row) - index_.low(row)) * static_cast<double>(end - begin + 1);
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < area.size(); ++i)
      if (area[i] > 0) order.push_back(i);
    std::sort(order.begin(), order.end(), [&area](std::uint32_t a, std::uint32_t b) {
      return area[a] != area[b] ? area[a] > area[b] : a < b;
    });
    // Stacks of the same site share a colour.
    std::vector<StackId> stacks;
    for (std::size_t i = 0; i < std::min(order.size(), SiteColors::kNamedStacks); ++i)
      stacks.push_back(order[i] + 1 == area.size() ? StackId() : StackId(order[i]));
    const std::vector<NamedSite> named = NameSites(*in.symbols, stacks);
    std::map<QString, std::pair<double, QString>> by_key;  // area, name
    for (std::size_t i = 0; i < named.size(); ++i) {
      by_key[named[i].key].first += area[order[i]];
      by_key[named[i].key].second = named[i].name;
    }
    std::vector<std::pair<double, QString>> ranked;
    for (const auto& [key, site] : by_key) ranked.push_back({-site.first, key});
    std::sort(ranked.begin(), ranked.end());
    QStringList keys;
    for (std::size_t i = 0; i < ranked.size() && i < Theme::kCategories; ++i)
      keys << ranked[i].second;
    SiteColors by_rank;
    const std::vector<int> chosen = (in.site_colors ? *in.site_colors : by_rank).Of(keys);
    std::map<QString, std::uint8_t> rank;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      rank[ranked[i].second] = static_cast<std::uint8_t>(i);
      colors.push_back(in.theme.Categorical(chosen[i]));
      legend.push_back({colors.back(), by_key[ranked[i].second].second});
    }
    const auto others = static_cast<std::uint8_t>(colors.size());
    colors.push_back(in.theme.Categorical(-1));
    if (order.size() > named.size() || ranked.size() > Theme::kCategories) {
      legend.push_back(
          {colors.back(),
           order.size() > named.size()
               ? QStringLiteral("other sites")
               : QStringLiteral("%1 other sites").arg(ranked.size() - Theme::kCategories)});
    }
    of_stack_.assign(area.size(), others);
    for (std::size_t i = 0; i < named.size(); ++i) {
      const auto at = rank.find(named[i].key);
      if (at != rank.end()) of_stack_[order[i]] = at->second;
    }
  }
  std::uint8_t Of(std::size_t row) const override {
    return of_stack_[Slot(index_.session().record(index_.id(row)).stack, of_stack_.size())];
  }

 private:
  static std::size_t Slot(StackId stack, std::size_t count) {
    return stack.value < count ? stack.value : count - 1;
  }
  const AllocationIndex& index_;
  std::vector<std::uint8_t> of_stack_;
};

class CategoryScheme : public Scheme {
 public:
  explicit CategoryScheme(const AllocationColorInputs& in)
      : index_(*in.index), categories_(in.categories.get()) {
    colors.push_back(in.theme.Categorical(-1));
    // Slack is never the category of an allocation.
    for (int i = 1; i + 1 < static_cast<int>(analysis::kCategoryCount); ++i)
      colors.push_back(in.theme.Group(ColorOf(static_cast<analysis::Category>(i))));
    if (categories_ == nullptr) {
      missing = QStringLiteral("Finding out what memory is for …");
      return;
    }
    std::set<std::uint8_t> seen;
    for (std::size_t row = 0; row < index_.size(); ++row) seen.insert(Of(row));
    for (const std::uint8_t i : seen)
      legend.push_back(
          {colors[i], ToQString(analysis::CategoryName(static_cast<analysis::Category>(i)))});
  }
  std::uint8_t Of(std::size_t row) const override {
    if (categories_ == nullptr) return 0;
    const auto category = static_cast<std::size_t>(categories_->Of(index_.id(row)).category);
    return static_cast<std::uint8_t>(category < colors.size() ? category : 0);
  }

 private:
  const AllocationIndex& index_;
  const analysis::Categories* categories_;
};

// Logarithmic, from a least to a largest value.
class RampScheme : public Scheme {
 public:
  RampScheme(const AllocationColorInputs& in, bool sizes) : index_(*in.index), sizes_(sizes) {
    for (int i = 0; i < kRampSteps; ++i)
      colors.push_back(in.theme.Ramp(i / static_cast<double>(kRampSteps - 1)));
    double least = 1e300, most = 0;
    for (std::size_t row = 0; row < index_.size(); ++row) {
      const double value = Value(row);
      least = std::min(least, value);
      most = std::max(most, value);
    }
    least = std::max(1.0, std::min(least, most));
    from_ = std::log2(least);
    scale_ = (kRampSteps - 1) / std::max(1e-9, std::log2(std::max(most, least)) - from_);
    const auto text = [&](double value) {
      return sizes ? FormatBytes(static_cast<std::uint64_t>(value))
                   : FormatDuration(static_cast<TimeNs>(value));
    };
    legend.push_back({colors.front(), text(least)});
    const double middle = std::exp2((std::log2(least) + std::log2(std::max(1.0, most))) / 2);
    legend.push_back({colors[kRampSteps / 2], text(middle)});
    legend.push_back({colors.back(), text(std::max(1.0, most)) +
                                         (sizes ? QString() : QStringLiteral(" or never freed"))});
  }
  std::uint8_t Of(std::size_t row) const override {
    if (!sizes_ && index_.CoarseDeath(row) == analysis::kForever) return kRampSteps - 1;
    const double place = (std::log2(std::max(1.0, Value(row))) - from_) * scale_;
    return static_cast<std::uint8_t>(std::clamp(place, 0.0, kRampSteps - 1.0));
  }

 private:
  double Value(std::size_t row) const {
    if (sizes_) return static_cast<double>(index_.session().record(index_.id(row)).bytes);
    const TimeNs end = std::min(index_.CoarseDeath(row), index_.bounds().end);
    return static_cast<double>(end - std::min(end, index_.CoarseBirth(row)));
  }
  const AllocationIndex& index_;
  const bool sizes_;
  double from_ = 0, scale_ = 1;
};

class LeakScheme : public Scheme {
 public:
  explicit LeakScheme(const AllocationColorInputs& in) : index_(*in.index) {
    using analysis::LeakTier;
    const Theme& theme = in.theme;
    colors = {Mix(theme.surface, theme.text, 0.30), theme.Categorical(0), theme.danger,
              theme.warning, theme.Categorical(3)};
    if (in.report == nullptr) {
      missing = QStringLiteral("Judging what survives …");
      return;
    }
    std::set<std::uint8_t> seen = {0, 1};
    for (const LeakRow& row : in.report->leaks) {
      const std::uint8_t color = row.leak.tier == LeakTier::kDefinite    ? 2
                                 : row.leak.tier == LeakTier::kSuspected ? 3
                                                                         : 4;
      tier_[{row.leak.stack, row.leak.layer}] = color;
      seen.insert(color);
    }
    static const char* const kText[] = {"freed", "alive at the end, no leak seen", "definite leak",
                                        "suspected leak", "growing"};
    for (const std::uint8_t i : seen) legend.push_back({colors[i], QString::fromUtf8(kText[i])});
  }
  std::uint8_t Of(std::size_t row) const override {
    if (index_.CoarseDeath(row) != analysis::kForever) return 0;
    const AllocationRecord& a = index_.session().record(index_.id(row));
    const auto at = tier_.find({a.stack, a.layer});
    return at != tier_.end() ? at->second : 1;
  }

 private:
  const AllocationIndex& index_;
  std::map<std::pair<StackId, analysis::Layer>, std::uint8_t> tier_;
};

std::unique_ptr<Scheme> MakeScheme(const AllocationColorInputs& in) {
  switch (in.coloring) {
    case AllocationColoring::kSite:
      return std::make_unique<SiteScheme>(in);
    case AllocationColoring::kCategory:
      return std::make_unique<CategoryScheme>(in);
    case AllocationColoring::kSize:
      return std::make_unique<RampScheme>(in, true);
    case AllocationColoring::kLifetime:
      return std::make_unique<RampScheme>(in, false);
    case AllocationColoring::kLeak:
      break;
  }
  return std::make_unique<LeakScheme>(in);
}

}  // namespace

AllocationColors ColorAllocations(const AllocationColorInputs& in) {
  AllocationColors out;
  const std::unique_ptr<Scheme> scheme = MakeScheme(in);
  out.legend = scheme->legend;
  out.missing = scheme->missing;
  // The palette: what does not pass, the colours, and the colours dimmed.
  out.palette.push_back(Mix(in.theme.surface, in.theme.text, 0.13).rgb());
  for (const QColor& color : scheme->colors) out.palette.push_back(color.rgb());
  for (const QColor& color : scheme->colors)
    out.palette.push_back(Mix(color, in.theme.surface, 0.62).rgb());
  const auto dimmed = static_cast<std::uint8_t>(scheme->colors.size());
  const std::size_t rows = in.index->size();
  const analysis::Session& session = in.index->session();
  bool dims = false;
  for (std::size_t row = 0; in.site.valid() && row < rows && !dims; ++row)
    dims = session.record(in.index->id(row)).stack == in.site;
  out.of.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const analysis::AllocationId id = in.index->id(row);
    if (!Passes(in.passing.get(), id)) continue;
    ++out.passing;
    auto color = static_cast<std::uint8_t>(1 + scheme->Of(row));
    if (dims && session.record(id).stack != in.site)
      color = static_cast<std::uint8_t>(color + dimmed);
    out.of[row] = color;
  }
  return out;
}

}  // namespace memprof::viewer
