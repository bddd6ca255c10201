// Builds PyTorch snapshots by hand, item by item; and queries on the logs made from them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/interchange/internal/pickle_writer.h"
#include "analysis/store/session.h"

namespace memprof::analysis::testing {

// Allocations of a layer, in order of birth.
std::vector<Allocation> Of(const Session& session, Layer layer);
// Events with this op, and with this layer if one is given.
std::vector<std::size_t> Events(const Session& session, Op op, Layer layer = Layer::kUnspecified);

// Writes a snapshot as a pickle: parts of the top-level dictionary in the order of the calls.
class SnapshotMaker {
 public:
  SnapshotMaker();
  // For items that have no function here.
  PickleWriter& out() { return out_; }
  void Segments(const std::function<void()>& items = [] {});
  // The traces of all devices; each device's is added by Trace.
  void Traces(const std::function<void()>& items);
  void Trace(const std::function<void()>& items);
  void Action(
      const std::string& action, std::uint64_t address, std::uint64_t bytes, std::uint64_t time_us,
      const std::function<void()>& more = [] {});
  void Number(const std::string& key, std::uint64_t value);
  void Text(const std::string& key, const std::string& value);
  void Annotation(const std::string& name, const std::string& stage, std::uint64_t time_us);
  std::string Finish();

 private:
  void List(const std::function<void()>& items);

  std::string bytes_;
  PickleWriter out_;
};

}  // namespace memprof::analysis::testing
