// The bands of the timeline: a device's memory divided into parts that add up, with names and
// colours. Pure; thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <memory>
#include <vector>

#include "analysis/filter/timeline_groups.h"
#include "analysis/symbols/symbols.h"

namespace memprof::viewer {

// Determines the colour and texture of a band, the same in every log.
enum class BandRole {
  kTensors,  // live tensors
  kBlocks,   // in use by the framework's allocator, outside of known tensors
  kCached,   // in segments of the framework, outside of blocks
  kLinear,
  kPitched,
  kArray,
  kManaged,
  kStreamOrdered,
  kVmm,
  kGraph,        // allocated from the driver directly
  kPool,         // held by the driver's pools and VMM beyond what was requested
  kOtherDriver,  // allocated from the driver directly, beside a framework's groups
  kPinned,
  kRegistered,   // host memory
  kGroup,        // one of many groups, which Band::color distinguishes
  kOther,        // all groups without a band of their own
  kFilteredOut,  // in use, but not passing the filter
  kCode,
  kUntracked,
  kOtherProcesses,  // in use of the device, beyond the log's own memory
  kFree,
  kUnsampled,  // up to the device's capacity
};

struct Band {
  BandRole role = BandRole::kLinear;
  int color = 0;  // of kGroup: from 0
  QString name;
  QString help;            // one sentence: what counts here
  analysis::StackId site;  // of a call site's band: one of its stacks
  QString key = {};        // of a call site's band: NamedSite::key
};

// A curve of a stack over time, queried like an analysis::Series.
class StackLine {
 public:
  StackLine() = default;
  StackLine(std::shared_ptr<const analysis::TimelineStack> stack,
            analysis::TimelineStack::Line line)
      : stack_(std::move(stack)), line_(line) {}

  bool empty() const { return stack_ == nullptr || stack_->Max(line_) == 0; }
  std::uint64_t At(analysis::TimeNs time) const {
    return stack_ == nullptr ? 0 : stack_->At(line_, time);
  }
  analysis::Series::Sample Between(analysis::TimeNs begin, analysis::TimeNs end) const {
    return stack_ == nullptr ? analysis::Series::Sample() : stack_->Between(line_, begin, end);
  }
  std::uint64_t max() const { return stack_ == nullptr ? 0 : stack_->Max(line_); }
  analysis::TimeNs time_of_max() const { return stack_ == nullptr ? 0 : stack_->TimeOfMax(line_); }

 private:
  std::shared_ptr<const analysis::TimelineStack> stack_;
  analysis::TimelineStack::Line line_ = analysis::TimelineStack::Line::kTop;
};

// The stack of one device, bottom band first. At every instant the bands add up to `top`.
struct TimelineBands {
  int device = 0;  // analysis::kNoDevice: host memory
  std::vector<Band> bands;
  StackLine top;
  StackLine allocated;     // the basis of the device's peak: driver bytes as requested
  StackLine in_use;        // the framework's live blocks if it was seen, else `allocated`
  bool framework = false;  // a framework's allocator was seen on this device
  std::shared_ptr<const analysis::TimelineStack> stack;  // never null
};

// Names and colours for a stack. `symbols` names call sites; null: by number. `colors`: the colours
// of call sites, by NamedSite::key, largest first; null: in that order.
using SiteColorsOf = std::function<std::vector<int>(const QStringList& keys)>;
TimelineBands MakeBands(std::shared_ptr<const analysis::TimelineStack> stack,
                        analysis::Symbols* symbols, const SiteColorsOf& colors = nullptr);

// The index of a category's colour, the same in every view and log; -1: the grey of unknown memory.
int ColorOf(analysis::Category category);

// "Memory kind", "Layer", …: the text of the choice; and a sentence that describes the grouping.
QString GroupingName(analysis::TimelineGrouping grouping);
QString GroupingHelp(analysis::TimelineGrouping grouping);
inline constexpr int kGroupings = 6;

}  // namespace memprof::viewer
