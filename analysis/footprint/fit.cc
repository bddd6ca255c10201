// Lines and parabolas through a few points.
#include "analysis/footprint/fit.h"

#include <algorithm>
#include <cmath>

namespace memprof::analysis {
namespace {

// Sizes that are rounded up somewhere (a power of two, a warp) are off by little.
constexpr double kTolerance = 512, kRelative = 1e-3;

std::uint64_t Least(const SizeObservation& point) {
  return point.least == 0 ? point.bytes : point.least;
}

// One point for each size, ascending.
std::vector<SizeObservation> OnePerSize(std::vector<SizeObservation> observations) {
  std::sort(observations.begin(), observations.end(),
            [](const SizeObservation& a, const SizeObservation& b) { return a.batch < b.batch; });
  std::vector<SizeObservation> points;
  for (std::size_t i = 0; i < observations.size();) {
    double sum = 0;
    std::uint64_t least = 0, most = ~std::uint64_t{0};
    std::size_t end = i;
    for (; end < observations.size() && observations[end].batch == observations[i].batch; ++end) {
      sum += static_cast<double>(observations[end].bytes);
      least = std::max(least, Least(observations[end]));
      most = std::min(most, observations[end].bytes);
    }
    const auto mean = static_cast<std::uint64_t>(std::llround(sum / static_cast<double>(end - i)));
    const bool agree = least <= most;
    points.push_back({observations[i].batch, agree ? most : mean, agree ? least : mean});
    i = end;
  }
  return points;
}

double X(const SizeObservation& point) { return static_cast<double>(point.batch); }
double Y(const SizeObservation& point) { return static_cast<double>(point.bytes); }

double LowestY(const SizeObservation& point) { return static_cast<double>(Least(point)); }

double SlopeBetween(const SizeObservation& a, const SizeObservation& b) {
  return (Y(b) - Y(a)) / (X(b) - X(a));
}

void SetLine(const SizeObservation& a, const SizeObservation& b, SizeModel* model) {
  model->per_unit = SlopeBetween(a, b);
  model->fixed = Y(a) - model->per_unit * X(a);
  model->per_square = 0;
}

// Newton's divided differences.
void SetParabola(const SizeObservation& a, const SizeObservation& b, const SizeObservation& c,
                 SizeModel* model) {
  const double first = SlopeBetween(a, b);
  model->per_square = (SlopeBetween(b, c) - first) / (X(c) - X(a));
  model->per_unit = first - model->per_square * (X(a) + X(b));
  model->fixed = Y(a) - model->per_unit * X(a) - model->per_square * X(a) * X(a);
}

double Value(const SizeModel& model, double x) {
  return model.fixed + model.per_unit * x + model.per_square * x * x;
}

bool Holds(const SizeModel& model, const std::vector<SizeObservation>& points) {
  return std::all_of(points.begin(), points.end(), [&model](const SizeObservation& point) {
    const double value = Value(model, X(point)),
                 tolerance = std::max(kTolerance, kRelative * Y(point));
    return value >= LowestY(point) - tolerance && value <= Y(point) + tolerance;
  });
}

// Without any tolerance but the ranges.
bool IsPossible(const SizeModel& model, const std::vector<SizeObservation>& points) {
  return std::all_of(points.begin(), points.end(), [&model](const SizeObservation& point) {
    const double value = Value(model, X(point));
    return value >= LowestY(point) && value <= Y(point);
  });
}

// The number from `least` to `most` that is a multiple of the highest power of two. Both are
// positive.
double Roundest(double least, double most) {
  constexpr int kLowest = -10;
  for (int power = std::ilogb(most); power >= kLowest; --power) {
    const double unit = std::ldexp(1.0, power), multiple = std::ceil(least / unit) * unit;
    if (multiple <= most) return multiple;
  }
  return most;
}

bool IsWhole(double value) { return std::abs(value - std::round(value)) < 1e-6; }

// The line through the two observations around `x`, or through the two nearest it.
double Along(const std::vector<SizeObservation>& points, double x) {
  std::size_t next = 1;
  while (next + 1 < points.size() && X(points[next]) < x) ++next;
  const SizeObservation &a = points[next - 1], &b = points[next];
  if (x > X(b) && Y(b) < Y(a)) return Y(b);  // what falls does not fall to nothing
  return Y(a) + SlopeBetween(a, b) * (x - X(a));
}

// Known less well than rounding explains.
bool IsVague(const SizeObservation& point) { return Y(point) - LowestY(point) >= kTolerance; }

std::uint64_t ToBytes(double bytes) {
  constexpr double kMax = 9e18;  // below 2^63
  return static_cast<std::uint64_t>(std::clamp(std::round(bytes), 1.0, kMax));
}

void SetOther(double fixed, double per_unit, SizeModel* model) {
  model->unsure = true;
  model->other_fixed = fixed;
  model->other_per_unit = per_unit;
}

bool IsRange(const SizeObservation& point) { return Least(point) < point.bytes; }

// The slopes of sizes in proportion that are in all ranges: the least and the most.
std::pair<double, double> Slopes(const std::vector<SizeObservation>& points) {
  double least = 0, most = 9e18;
  for (const SizeObservation& point : points) {
    least = std::max(least, LowestY(point) / X(point));
    most = std::min(most, Y(point) / X(point));
  }
  return {least, most};
}

// One size, or a size in proportion, that is in all ranges. With blocks of one size the first is
// likelier, else the second.
bool FitSimply(const std::vector<SizeObservation>& points, SizeModel* model) {
  const auto [unit_least, unit_most] = Slopes(points);
  double least = 0, most = 9e18;
  bool same = true;
  for (const SizeObservation& point : points) {
    least = std::max(least, LowestY(point));
    most = std::min(most, Y(point));
    same &= point.bytes == points.front().bytes;
  }
  const bool constant = least <= most, proportional = unit_least <= unit_most;
  if (!constant && !proportional) return false;
  *model = SizeModel();
  const bool vague = std::any_of(points.begin(), points.end(), IsVague);
  if (constant && (same || !proportional)) {
    model->growth = Growth::kConstant;
    model->fixed = most;
    if (vague) SetOther(proportional ? 0 : least, proportional ? unit_most : 0, model);
  } else {
    model->growth = Growth::kLinear;
    model->per_unit = Roundest(unit_least, unit_most);
    if (vague) SetOther(constant ? most : 0, constant ? 0 : unit_least, model);
  }
  return true;
}

// The line of the roundest slope between the first and the last range, if it is one.
bool FitLine(const std::vector<SizeObservation>& points, SizeModel* model) {
  const SizeObservation &a = points.front(), &b = points.back();
  const double run = X(b) - X(a), most = (Y(b) - LowestY(a)) / run;
  if (most <= 0) return false;
  *model = SizeModel();
  model->growth = Growth::kLinear;
  model->per_unit = Roundest(std::max(0.0, (LowestY(b) - Y(a)) / run), most);
  model->fixed = std::min(Y(a) - model->per_unit * X(a), Y(b) - model->per_unit * X(b));
  return model->fixed >= 0 && Holds(*model, points);
}

}  // namespace

std::uint64_t SizeModel::At(std::uint64_t batch) const {
  const auto x = static_cast<double>(batch);
  const double bytes = growth == Growth::kIrregular ? Along(points, x) : Value(*this, x);
  return ToBytes(bytes);
}

std::uint64_t SizeModel::OtherAt(std::uint64_t batch) const {
  return unsure ? ToBytes(other_fixed + other_per_unit * static_cast<double>(batch)) : At(batch);
}

SizeModel FitSize(std::vector<SizeObservation> observations) {
  SizeModel model;
  std::vector<SizeObservation> points = OnePerSize(std::move(observations));
  model.fixed = Y(points.front());
  if (points.size() == 1) {
    SetOther(0, Y(points.front()) / X(points.front()), &model);
    return model;
  }
  const bool constant = std::all_of(
      points.begin(), points.end(),
      [&points](const SizeObservation& point) { return point.bytes == points.front().bytes; });
  model.growth = Growth::kConstant;
  if (std::any_of(points.begin(), points.end(), IsRange)) {
    SizeModel simple;
    if (FitSimply(points, &simple) || FitLine(points, &simple)) return simple;
  }
  if (constant) return model;
  SetLine(points.front(), points.back(), &model);
  model.growth = Growth::kLinear;
  // The tolerance at the observations also applies at size 0.
  const double least = points.size() == 2 ? 0 : -kTolerance;
  if (model.fixed >= least && model.per_unit > 0 &&
      (points.size() > 2 || IsWhole(model.per_unit)) && Holds(model, points)) {
    return model;
  }
  if (points.size() > 2) {
    SetParabola(points.front(), points[points.size() / 2], points.back(), &model);
    model.growth = Growth::kQuadratic;
    const bool grows = model.per_square > 0 && model.per_unit >= -1e-6;
    if (grows && model.fixed >= least && Holds(model, points)) return model;
  }
  SetLine(points.front(), points.back(), &model);
  model.growth = Growth::kIrregular;
  SetOther(Y(points.back()), 0, &model);
  model.points = std::move(points);
  return model;
}

void SizeLaws::Add(const std::vector<SizeObservation>& observations) {
  if (std::any_of(observations.begin(), observations.end(), IsVague)) return;
  const SizeModel model = FitSize(observations);
  if (model.growth != Growth::kConstant && model.growth != Growth::kLinear) return;
  Law& law = laws_[{model.fixed, model.per_unit}];
  law.model = model;
  ++law.requests;
}

const std::vector<const SizeLaws::Law*>& SizeLaws::Common() const {
  constexpr std::size_t kMost = 256;
  if (!common_.empty()) return common_;
  for (const auto& [key, law] : laws_)
    if (law.model.growth == Growth::kLinear && law.model.fixed == 0) common_.push_back(&law);
  std::stable_sort(common_.begin(), common_.end(),
                   [](const Law* a, const Law* b) { return a->requests > b->requests; });
  if (common_.size() > kMost) common_.resize(kMost);
  return common_;
}

void SizeLaws::Sharpen(const std::vector<SizeObservation>& points, SizeModel* model) const {
  if (model->growth != Growth::kLinear || model->fixed != 0 || points.size() < 2) return;
  const auto [least, most] = Slopes(points);
  constexpr double kElement = 4, kFew = 1024, kFactor = 16;
  const double first = std::ceil(least / kElement) * kElement;
  if (most - first > kFew || most < kElement) return;
  std::uint64_t best = 0;
  for (double unit = std::max(first, kElement); unit <= most; unit += kElement) {
    std::uint64_t multiples = 0;
    for (const Law* law : Common()) {
      const double times = law->model.per_unit / unit;
      if (times >= kFactor && IsWhole(times)) multiples += law->requests;
    }
    if (multiples <= best) continue;
    best = multiples;
    model->per_unit = unit;
  }
}

void SizeLaws::Relate(const std::vector<SizeObservation>& points, SizeModel* model) const {
  if (model->growth != Growth::kLinear || model->fixed != 0) return;
  const auto [least, most] = Slopes(points);
  constexpr double kTimes = 16;
  std::map<double, std::uint64_t> votes;  // by slope
  for (const Law* law : Common()) {
    for (double times = 2; times <= kTimes; ++times) {
      for (const double slope : {law->model.per_unit * times, law->model.per_unit / times})
        if (slope >= least && slope <= most) votes[slope] += law->requests;
    }
  }
  std::uint64_t highest = 0;
  for (const auto& [slope, requests] : votes) {
    if (requests <= highest) continue;
    highest = requests;
    model->per_unit = slope;
  }
}

SizeModel SizeLaws::Fit(const std::vector<SizeObservation>& observations) {
  const auto [at, added] = fitted_.try_emplace(observations);
  if (!added) return at->second;
  const std::vector<SizeObservation> points = OnePerSize(observations);
  if (points.size() < 2 || std::none_of(points.begin(), points.end(), IsVague)) {
    SizeModel model = FitSize(observations);
    Sharpen(points, &model);
    return at->second = model;
  }
  const Law *best = nullptr, *next = nullptr;
  for (const auto& [key, law] : laws_) {
    if (!IsPossible(law.model, points)) continue;
    if (best == nullptr || law.requests > best->requests) {
      next = std::exchange(best, &law);
    } else if (next == nullptr || law.requests > next->requests) {
      next = &law;
    }
  }
  if (best == nullptr) {
    SizeModel model = FitSize(observations);
    Relate(points, &model);
    return at->second = model;
  }
  SizeModel model = best->model;
  if (next != nullptr) SetOther(next->model.fixed, next->model.per_unit, &model);
  return at->second = model;
}

}  // namespace memprof::analysis
