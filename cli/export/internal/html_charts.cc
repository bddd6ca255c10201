// SVG and boxes. Coordinates are pixels of a drawing 1200 wide.
#include "cli/export/internal/html_charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "analysis/base/units.h"
#include "cli/console/lines.h"
#include "cli/console/text.h"
#include "cli/export/internal/html.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::DeviceTimeline;
using analysis::FormatBytes;
using analysis::Series;
using analysis::Session;
using analysis::TimeNs;

constexpr int kLeft = 78, kTop = 8, kWide = 1110, kHeight = 240;
constexpr int kColumns = kWide;  // one a pixel

// One digit after the point is exact enough for a pixel.
std::string Pixel(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  std::string_view view = text;
  if (view.ends_with(".0")) view.remove_suffix(2);
  return std::string(view);
}

class Chart {
 public:
  Chart(const Session& session, const DeviceTimeline& device, std::uint64_t capacity)
      : session_(session), capacity_(capacity), begin_(StartTime(session)) {
    const TimeNs last = session.events().last_time();
    end_ = std::max({TimeNs{1}, session.run().end_time, last + 1});
    if (end_ <= begin_) begin_ = 0;  // a log without events, or with invalid times
    AddLine("pools hold", "pools", device.reserved);
    AddLine("driver", "driver", device.total);
    AddLine("segments", "segments", device.framework_reserved);
    AddLine("blocks", "blocks", device.framework_allocated);
    AddLine("tensors", "tensors", device.tensors);
    AddLine("pinned", "driver", device.layer[static_cast<int>(analysis::Layer::kPinned)],
            device.device == analysis::kNoDevice);
    AddLine("registered", "blocks", device.layer[static_cast<int>(analysis::Layer::kRegistered)],
            device.device == analysis::kNoDevice);
    for (const Line& line : lines_) {
      for (const Series::Sample& sample : line.columns) highest_ = std::max(highest_, sample.max);
    }
    // Draws the capacity only if the curve keeps at least half of the height.
    if (capacity_ > 0 && capacity_ / 2 <= highest_) highest_ = std::max(highest_, capacity_);
    highest_ = std::max<std::uint64_t>(highest_, 1);
  }

  std::string Html() const {
    if (lines_.empty()) return "<p>Nothing was allocated.</p>\n";
    std::string html = "<div class=\"chart\">\n<div class=\"legend\">";
    for (const Line& line : lines_) {
      Append(html, "<span class=\"", line.style, "\">", line.name, "</span>");
    }
    Append(html, "</div>\n<svg viewBox=\"0 0 1200 ", kHeight + kTop + 44,
           "\" role=\"img\" aria-label=\"bytes over time\">\n");
    Append(html, ByteAxis(), TimeAxis());
    for (const Line& line : lines_) html += Curve(line);
    if (capacity_ > 0 && capacity_ <= highest_) {
      const std::string y = Pixel(Y(capacity_));
      Append(html, "<line class=\"capacity\" x1=\"", kLeft, "\" x2=\"", kLeft + kWide, "\" y1=\"",
             y, "\" y2=\"", y, "\"/><text x=\"", kLeft + 6, "\" y=\"", Pixel(Y(capacity_) + 12),
             "\">capacity ", FormatBytes(capacity_), "</text>\n");
    }
    Append(html, "<line class=\"pointer\" y1=\"", kTop, "\" y2=\"", kTop + kHeight,
           "\"/>\n</svg>\n", "<div class=\"readout\"></div>\n<script type=\"application/json\">",
           Data(), "</script>\n</div>\n");
    return html;
  }

 private:
  struct Line {
    std::string_view name, style;
    std::vector<Series::Sample> columns;
  };

  void AddLine(std::string_view name, std::string_view style, const Series& series,
               bool wanted = true) {
    if (series.empty() || !wanted) return;
    // Driver memory and reserved memory are one curve if pools hold nothing beyond.
    lines_.push_back({name, style, series.Columns({begin_, end_}, kColumns)});
    if (lines_.size() == 2 && lines_[0].style == "pools" && Same(lines_[0], lines_[1]))
      lines_.erase(lines_.begin());
  }
  static bool Same(const Line& a, const Line& b) {
    return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                      [](const Series::Sample& x, const Series::Sample& y) {
                        return x.min == y.min && x.max == y.max;
                      });
  }

  double Y(std::uint64_t bytes) const {
    return kTop + kHeight * (1 - static_cast<double>(bytes) / static_cast<double>(highest_) * 0.97);
  }
  double X(TimeNs time) const {
    return kLeft + kWide * static_cast<double>(time - begin_) / static_cast<double>(end_ - begin_);
  }

  // The area below the minimum, and the band from minimum to maximum, as steps.
  std::string Curve(const Line& line) const {
    std::string upper, lower;
    const auto edge = [this, &line](std::string& path, auto value, bool forward) {
      double last = -1;
      for (int i = 0; i < kColumns; ++i) {
        const int column = forward ? i : kColumns - 1 - i;
        const double y = Y(value(line.columns[column]));
        if (y == last) continue;
        Append(path, "H", kLeft + column + (forward ? 0 : 1), "V", Pixel(y));
        last = y;
      }
      Append(path, "H", forward ? kLeft + kWide : kLeft);
    };
    edge(
        upper, [](const Series::Sample& s) { return s.max; }, true);
    edge(
        lower, [](const Series::Sample& s) { return s.min; }, false);
    const int bottom = kTop + kHeight;
    return Cat("<path class=\"area ", line.style, "\" d=\"M", kLeft, " ", bottom, upper, "V",
               bottom, "Z\"/>\n<path class=\"band ", line.style, "\" d=\"M", kLeft, " ",
               Pixel(Y(line.columns.front().max)), upper, lower, "Z\"/>\n");
  }

  std::string ByteAxis() const {
    std::uint64_t step = 1;
    while (highest_ / step > 6) step *= 2;
    std::string html;
    for (std::uint64_t bytes = 0; bytes <= highest_; bytes += step) {
      const std::string y = Pixel(Y(bytes));
      Append(html, "<line class=\"grid\" x1=\"", kLeft, "\" x2=\"", kLeft + kWide, "\" y1=\"", y,
             "\" y2=\"", y, "\"/><text class=\"end\" x=\"", kLeft - 6, "\" y=\"",
             Pixel(Y(bytes) + 4), "\">", bytes == 0 ? "0" : FormatBytes(bytes), "</text>\n");
      if (highest_ - bytes < step) break;  // the next would not fit, or overflow
    }
    return html;
  }

  // Times below the drawing, and below them as many step numbers as fit.
  std::string TimeAxis() const {
    const double span = static_cast<double>(end_ - begin_);
    double tick = std::pow(10, std::floor(std::log10(span / 8)));
    for (const double factor : {2.0, 2.5, 2.0}) {
      if (span / tick > 12) tick *= factor;
    }
    std::string html;
    for (double time = 0; time <= span && tick > 0; time += tick) {
      Append(html, "<text class=\"middle\" x=\"", Pixel(kLeft + kWide * time / span), "\" y=\"",
             kTop + kHeight + 16, "\">", analysis::FormatDuration(static_cast<TimeNs>(time)),
             "</text>\n");
    }
    const auto steps = session_.steps();
    const std::size_t every = std::max<std::size_t>(1, (steps.size() + 15) / 16);
    double free_from = 0;  // where the next label may begin
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double at = X(steps[i].begin);
      const bool labelled = i % every == 0 && at >= free_from && at < kLeft + kWide - 50;
      if (labelled) free_from = at + 70;
      if (!labelled && steps.size() > 100) continue;
      if (steps[i].begin < begin_ || steps[i].begin >= end_) continue;
      const std::string x = Pixel(at);
      Append(html, "<line class=\"step\" x1=\"", x, "\" x2=\"", x, "\" y1=\"", kTop, "\" y2=\"",
             kTop + kHeight + (labelled ? 22 : 0), "\"/>");
      if (labelled)
        Append(html, "<text x=\"", x, "\" y=\"", kTop + kHeight + 34, "\">step ", steps[i].number,
               "</text>");
      html += "\n";
    }
    return html;
  }

  // Only our own numbers and names: no text of the log.
  std::string Data() const {
    std::string json =
        Cat("{\"left\":", kLeft, ",\"width\":", kWide, ",\"span\":", end_ - begin_, ",\"lines\":[");
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      Append(json, i == 0 ? "" : ",", "{\"name\":\"", lines_[i].name, "\"");
      AppendValues(json, "min", lines_[i], [](const Series::Sample& s) { return s.min; });
      AppendValues(json, "max", lines_[i], [](const Series::Sample& s) { return s.max; });
      json += "}";
    }
    json += "],\"steps\":[";
    for (std::size_t i = 0; i < session_.steps().size() && i < 4096; ++i) {
      const analysis::StepInfo& step = session_.steps()[i];
      const TimeNs since = step.begin > begin_ ? step.begin - begin_ : 0;
      Append(json, i == 0 ? "[" : ",[", since, ",", step.number, "]");
    }
    return json + "]}";
  }
  template <typename Value>
  void AppendValues(std::string& json, std::string_view key, const Line& line, Value value) const {
    Append(json, ",\"", key, "\":[");
    for (int i = 0; i < kColumns; ++i) Append(json, i == 0 ? "" : ",", value(line.columns[i]));
    json += "]";
  }

  const Session& session_;
  const std::uint64_t capacity_;
  TimeNs begin_, end_ = 0;
  std::vector<Line> lines_;
  std::uint64_t highest_ = 0;
};

// The colour of a function in the flame graph, the same wherever it occurs.
std::uint32_t Hue(std::string_view function) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : function) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash % 50;
}

}  // namespace

std::string TimelineHtml(const Session& session, const DeviceTimeline& device,
                         std::uint64_t capacity) {
  return Chart(session, device, capacity).Html();
}

std::string FlameHtml(const analysis::FlameTree& tree) {
  constexpr double kNarrowest = 0.1;  // percent
  constexpr int kDeepest = 120;
  if (tree.nodes.empty() || tree.nodes[0].bytes == 0) return "";
  struct Box {
    double left = 0, width = 100, next = 0;  // percent; `next` = where the next child begins
    int depth = 0;
  };
  std::vector<Box> places(tree.nodes.size());
  const auto whole = static_cast<double>(tree.nodes[0].bytes);
  std::string boxes;
  int deepest = 0;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const analysis::FlameNode& node = tree.nodes[i];
    Box& place = places[i];
    place.width = 100 * static_cast<double>(node.bytes) / whole;
    if (node.parent >= 0) {
      Box& parent = places[node.parent];
      place.left = parent.next;
      place.depth = parent.depth + 1;
      parent.next += place.width;
    }
    place.next = place.left;
    if (place.width < kNarrowest || place.depth > kDeepest) continue;
    deepest = std::max(deepest, place.depth);
    char geometry[96];
    std::snprintf(geometry, sizeof geometry, "data-x=\"%.3f\" data-w=\"%.3f\" data-d=\"%d\"",
                  place.left, place.width, place.depth);
    const std::string name = i == 0 ? "all" : LastScopes(ShortFunction(node.function));
    std::string title = Cat(i == 0 ? "all" : Printable(node.function), "\n");
    if (!node.file.empty()) Append(title, Printable(node.file), ":", node.line, "\n");
    Append(title, FormatBytes(node.bytes), " (", Pixel(place.width), " %) in ",
           analysis::FormatNumberOf(node.blocks, "block"));
    Append(boxes, "<div class=\"f\" ", geometry, " style=\"--h:", Hue(node.function), "\" title=\"",
           EscapeHtml(title), "\">", EscapeHtml(name), "</div>\n");
  }
  return Cat("<div class=\"flame\" data-rows=\"", deepest + 1, "\">\n", boxes, "</div>\n");
}

std::string SurvivorsHtml(const analysis::Leak& leak) {
  constexpr std::size_t kBars = 200;
  constexpr int kBarHeight = 40;
  if (leak.survivors.size() < 2) return "";
  const std::int64_t first = leak.survivors.front().step;
  // Unsigned, because a hostile log may have any step numbers.
  const auto since = [first](std::int64_t step) {
    return static_cast<std::uint64_t>(step) - static_cast<std::uint64_t>(first);
  };
  const std::uint64_t steps = std::max<std::uint64_t>(1, since(leak.survivors.back().step) + 1);
  const std::size_t bars = std::min<std::uint64_t>(steps, kBars);
  std::vector<std::uint64_t> bytes(bars);
  for (const analysis::BirthStep& born : leak.survivors) {
    const auto bar =
        static_cast<std::size_t>(static_cast<double>(since(born.step)) /
                                 static_cast<double>(steps) * static_cast<double>(bars));
    bytes[std::min(bar, bars - 1)] += born.bytes;
  }
  const std::uint64_t most =
      std::max<std::uint64_t>(1, *std::max_element(bytes.begin(), bytes.end()));
  std::string path;
  for (std::size_t i = 0; i < bars; ++i) {
    if (bytes[i] == 0) continue;
    const double height = kBarHeight * static_cast<double>(bytes[i]) / static_cast<double>(most);
    Append(path, "M", i * 3, " ", kBarHeight, "v-", Pixel(height), "h2v", Pixel(height), "z");
  }
  return Cat("<figure><svg class=\"bars\" width=\"", bars * 3, "\" height=\"", kBarHeight,
             "\" role=\"img\" aria-label=\"survivors by step of birth\"><path d=\"", path,
             "\"/></svg><figcaption>survivors by step of birth, ", first, " to ",
             leak.survivors.back().step, "; the highest bar is ", FormatBytes(most),
             "</figcaption></figure>\n");
}

}  // namespace memprof::cli
