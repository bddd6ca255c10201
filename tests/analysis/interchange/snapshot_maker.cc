// Snapshots of PyTorch made by hand.
#include "tests/analysis/interchange/snapshot_maker.h"

#include <gtest/gtest.h>

#include <string_view>

namespace memprof::analysis::testing {

std::vector<Allocation> Of(const Session& session, Layer layer) {
  std::vector<Allocation> found;
  for (const Allocation& a : session.allocations())
    if (a.layer == layer) found.push_back(a);
  return found;
}

std::vector<std::size_t> Events(const Session& session, Op op, Layer layer) {
  std::vector<std::size_t> found;
  for (std::size_t e = 0; e < session.events().size(); ++e)
    if (session.events().op(e) == op &&
        (layer == Layer::kUnspecified || session.events().layer(e) == layer))
      found.push_back(e);
  return found;
}

SnapshotMaker::SnapshotMaker()
    : out_([this](std::string_view piece) {
        bytes_ += piece;
        return true;
      }) {
  out_.BeginDict();
}

void SnapshotMaker::List(const std::function<void()>& items) {
  out_.BeginList();
  items();
  out_.EndList();
}

void SnapshotMaker::Segments(const std::function<void()>& items) {
  out_.Key("segments");
  List(items);
}

void SnapshotMaker::Traces(const std::function<void()>& items) {
  out_.Key("device_traces");
  List(items);
}

void SnapshotMaker::Trace(const std::function<void()>& items) {
  out_.Item();
  List(items);
}

void SnapshotMaker::Action(const std::string& action, std::uint64_t address, std::uint64_t bytes,
                           std::uint64_t time_us, const std::function<void()>& more) {
  out_.Item();
  out_.BeginDict();
  Text("action", action);
  Number(action == "oom" ? "device_free" : "addr", address);
  Number("size", bytes);
  Number("stream", 0);
  Number("time_us", time_us);
  more();
  out_.EndDict();
}

void SnapshotMaker::Number(const std::string& key, std::uint64_t value) {
  out_.Key(key);
  out_.Integer(value);
}

void SnapshotMaker::Text(const std::string& key, const std::string& value) {
  out_.Key(key);
  out_.Text(value);
}

void SnapshotMaker::Annotation(const std::string& name, const std::string& stage,
                               std::uint64_t time_us) {
  out_.Item();
  out_.BeginDict();
  Text("name", name);
  Text("stage", stage);
  Number("device", 0);
  Number("time_us", time_us);
  out_.EndDict();
}

std::string SnapshotMaker::Finish() {
  out_.EndDict();
  EXPECT_TRUE(out_.Finish());
  return bytes_;
}

}  // namespace memprof::analysis::testing
