// An exported Perfetto trace, read back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/cli/formats/trace.pb.h"

namespace memprof::cli::testing {

namespace perfetto = formats::perfetto;

struct Slice {
  std::string name;
  std::uint64_t begin = 0, end = 0;
  std::size_t depth = 0;
  const perfetto::TrackEvent* event = nullptr;
};

// A trace read as by a viewer: events at the same instant are in the order of the file.
class Trace {
 public:
  explicit Trace(const std::string& bytes) {
    EXPECT_TRUE(trace_.ParseFromString(bytes));
    for (const perfetto::TracePacket& packet : trace_.packet()) {
      EXPECT_EQ(packet.trusted_packet_sequence_id(), 1u);
      if (packet.has_track_descriptor()) {
        const auto& track = packet.track_descriptor();
        EXPECT_NE(track.uuid(), 0u);
        EXPECT_TRUE(tracks_.emplace(track.uuid(), &track).second);
        EXPECT_TRUE(!track.has_parent_uuid() || tracks_.contains(track.parent_uuid()));
      } else {
        EXPECT_TRUE(tracks_.contains(packet.track_event().track_uuid()));
        by_track_[packet.track_event().track_uuid()].push_back(&packet);
      }
    }
    for (auto& [track, packets] : by_track_) {
      std::stable_sort(packets.begin(), packets.end(), [](const auto* a, const auto* b) {
        return a->timestamp() < b->timestamp();
      });
    }
  }
  // "parent/name" of every track; thread tracks are named by their tid.
  std::string Path(std::uint64_t uuid) const {
    const perfetto::TrackDescriptor& track = *tracks_.at(uuid);
    std::string name = track.name();
    if (track.has_process()) name = track.process().process_name();
    if (track.has_thread()) name = "thread " + std::to_string(track.thread().tid());
    return track.has_parent_uuid() ? Path(track.parent_uuid()) + "/" + name : name;
  }
  std::vector<std::uint64_t> Tracks(const std::string& path) const {
    std::vector<std::uint64_t> found;
    for (const auto& [uuid, track] : tracks_) {
      if (Path(uuid) == path) found.push_back(uuid);
    }
    return found;
  }
  // Time and value of a counter.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> Counter(const std::string& path) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> samples;
    const auto tracks = Tracks(path);
    EXPECT_EQ(tracks.size(), 1u) << path;
    EXPECT_EQ(tracks_.at(tracks.at(0))->counter().unit(),
              perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
    for (const perfetto::TracePacket* packet : by_track_.at(tracks.at(0))) {
      EXPECT_EQ(packet->track_event().type(), perfetto::TrackEvent::TYPE_COUNTER);
      samples.emplace_back(packet->timestamp(), packet->track_event().counter_value());
    }
    return samples;
  }
  // Slices of all tracks with that path; an unmatched begin or end fails the test.
  std::vector<Slice> Slices(const std::string& path) const {
    std::vector<Slice> slices;
    for (const std::uint64_t track : Tracks(path)) {
      std::vector<std::size_t> open;
      for (const perfetto::TracePacket* packet : by_track_.at(track)) {
        const perfetto::TrackEvent& event = packet->track_event();
        if (event.type() == perfetto::TrackEvent::TYPE_SLICE_BEGIN) {
          open.push_back(slices.size());
          slices.push_back({event.name(), packet->timestamp(), 0, open.size() - 1, &event});
        } else if (event.type() == perfetto::TrackEvent::TYPE_SLICE_END && !open.empty()) {
          slices[open.back()].end = packet->timestamp();
          open.pop_back();
        } else {
          ADD_FAILURE() << "an end without a beginning on " << path;
        }
      }
      EXPECT_TRUE(open.empty()) << path;
    }
    return slices;
  }
  std::map<std::string, const perfetto::TracePacket*> Instants(const std::string& path) const {
    std::map<std::string, const perfetto::TracePacket*> instants;
    for (const std::uint64_t track : Tracks(path)) {
      if (!by_track_.contains(track)) continue;
      for (const perfetto::TracePacket* packet : by_track_.at(track)) {
        EXPECT_EQ(packet->track_event().type(), perfetto::TrackEvent::TYPE_INSTANT);
        instants[packet->track_event().name()] = packet;
      }
    }
    return instants;
  }
  const perfetto::Trace& raw() const { return trace_; }

 private:
  perfetto::Trace trace_;
  std::map<std::uint64_t, const perfetto::TrackDescriptor*> tracks_;
  std::map<std::uint64_t, std::vector<const perfetto::TracePacket*>> by_track_;
};

}  // namespace memprof::cli::testing
