// Packets of a Perfetto trace, written one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/types.h"
#include "analysis/timeline/timeline.h"
#include "cli/console/output_file.h"
#include "cli/export/formats/trace.pb.h"

namespace memprof::cli {

// Details of an event beyond its name.
struct PerfettoNote {
  std::string_view name;
  std::string text;  // empty = `number`
  std::uint64_t number = 0;
};

struct PerfettoSlice {
  analysis::TimeNs begin = 0, end = 0;
  int depth = 0;
  std::string name;
};

// Not thread-safe.
class PerfettoTrace {
 public:
  using Notes = std::vector<PerfettoNote>;

  explicit PerfettoTrace(OutputFile& output) : output_(output) {}

  // Adds a track below `parent` (0 = none), described by `track`, and returns its id.
  std::uint64_t AddTrack(std::uint64_t parent, std::string_view name,
                         perfetto::TrackDescriptor track = {});
  void Begin(std::uint64_t track, analysis::TimeNs time, std::string_view category,
             std::string_view name, const Notes& notes = {});
  void End(std::uint64_t track, analysis::TimeNs time);
  void Instant(std::uint64_t track, analysis::TimeNs time, std::string_view category,
               std::string_view name, const Notes& notes = {});
  // Adds a track of bytes over time, unless it is empty.
  void AddCounter(std::uint64_t parent, std::string_view name, const analysis::Series& series);
  // Adds slices of one track, which may be nested. Begins and ends are written in order, also those
  // of one instant.
  void AddNested(std::uint64_t track, std::string_view category, std::vector<PerfettoSlice> slices);
  bool Finish();

 private:
  perfetto::TracePacket& AddPacket();
  perfetto::TrackEvent& AddEvent(perfetto::TrackEvent::Type type, std::uint64_t track,
                                 analysis::TimeNs time);
  void AddNamed(perfetto::TrackEvent::Type type, std::uint64_t track, analysis::TimeNs time,
                std::string_view category, std::string_view name, const Notes& notes);
  void Flush();

  OutputFile& output_;
  perfetto::Trace trace_;  // not yet written
  bool written_ = true;
  std::uint64_t last_track_ = 0;
};

}  // namespace memprof::cli
