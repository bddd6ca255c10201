#include "cli/export/internal/perfetto_trace.h"

#include <algorithm>

#include "analysis/log/wire.h"

namespace memprof::cli {

using analysis::TimeNs;
using perfetto::TrackEvent;

std::uint64_t PerfettoTrace::AddTrack(std::uint64_t parent, std::string_view name,
                                      perfetto::TrackDescriptor track) {
  track.set_uuid(++last_track_);
  if (parent != 0) track.set_parent_uuid(parent);
  if (!name.empty()) track.set_name(analysis::ValidUtf8(name));
  *AddPacket().mutable_track_descriptor() = std::move(track);
  return last_track_;
}

void PerfettoTrace::Begin(std::uint64_t track, TimeNs time, std::string_view category,
                          std::string_view name, const Notes& notes) {
  AddNamed(TrackEvent::TYPE_SLICE_BEGIN, track, time, category, name, notes);
}

void PerfettoTrace::End(std::uint64_t track, TimeNs time) {
  AddEvent(TrackEvent::TYPE_SLICE_END, track, time);
}

void PerfettoTrace::Instant(std::uint64_t track, TimeNs time, std::string_view category,
                            std::string_view name, const Notes& notes) {
  AddNamed(TrackEvent::TYPE_INSTANT, track, time, category, name, notes);
}

void PerfettoTrace::AddCounter(std::uint64_t parent, std::string_view name,
                               const analysis::Series& series) {
  if (series.empty()) return;
  perfetto::TrackDescriptor descriptor;
  descriptor.mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
  const std::uint64_t track = AddTrack(parent, name, std::move(descriptor));
  const auto times = series.times();
  const auto values = series.values();
  for (std::size_t i = 0; i < times.size(); ++i) {
    // only the last value of an instant
    if (i + 1 < times.size() && times[i + 1] == times[i]) continue;
    AddEvent(TrackEvent::TYPE_COUNTER, track, times[i])
        .set_counter_value(static_cast<std::int64_t>(std::min(values[i], ~std::uint64_t{0} >> 1)));
  }
}

void PerfettoTrace::AddNested(std::uint64_t track, std::string_view category,
                              std::vector<PerfettoSlice> slices) {
  std::stable_sort(slices.begin(), slices.end(),
                   [](const PerfettoSlice& a, const PerfettoSlice& b) {
                     return a.begin != b.begin ? a.begin < b.begin : a.depth < b.depth;
                   });
  std::vector<TimeNs> open;
  for (const PerfettoSlice& slice : slices) {
    for (; !open.empty() && open.back() <= slice.begin; open.pop_back()) End(track, open.back());
    Begin(track, slice.begin, category, slice.name);
    const TimeNs end = std::max(slice.begin, slice.end);
    open.push_back(open.empty() ? end : std::min(end, open.back()));
  }
  for (; !open.empty(); open.pop_back()) End(track, open.back());
}

bool PerfettoTrace::Finish() {
  Flush();
  return written_;
}

perfetto::TracePacket& PerfettoTrace::AddPacket() {
  constexpr int kPacketsAtOnce = 4096;
  if (trace_.packet_size() >= kPacketsAtOnce) Flush();
  perfetto::TracePacket& packet = *trace_.add_packet();
  packet.set_trusted_packet_sequence_id(1);
  return packet;
}

TrackEvent& PerfettoTrace::AddEvent(TrackEvent::Type type, std::uint64_t track, TimeNs time) {
  perfetto::TracePacket& packet = AddPacket();
  packet.set_timestamp(time);
  TrackEvent& event = *packet.mutable_track_event();
  event.set_type(type);
  event.set_track_uuid(track);
  return event;
}

void PerfettoTrace::AddNamed(TrackEvent::Type type, std::uint64_t track, TimeNs time,
                             std::string_view category, std::string_view name, const Notes& notes) {
  TrackEvent& event = AddEvent(type, track, time);
  event.add_categories(std::string(category));
  event.set_name(analysis::ValidUtf8(name));
  for (const PerfettoNote& note : notes) {
    perfetto::DebugAnnotation& annotation = *event.add_debug_annotations();
    annotation.set_name(std::string(note.name));
    if (note.text.empty()) {
      annotation.set_uint_value(note.number);
    } else {
      annotation.set_string_value(analysis::ValidUtf8(note.text));
    }
  }
}

// The parts of a trace are concatenated: together they are one message with all packets.
void PerfettoTrace::Flush() {
  if (written_) written_ = output_.Write(trace_.SerializeAsString());
  trace_.Clear();
}

}  // namespace memprof::cli
