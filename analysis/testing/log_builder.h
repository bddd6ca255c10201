// Writes small logs for tests without a recorder, from calls that describe the events.
//
//     LogBuilder log;
//     const int site = log.Stack({"main (a.cc:1)", "Train (a.cc:9)"});   // outermost first
//     log.Step(0);
//     log.Alloc(Layer::kLinear, 0x1000, 4096, {.stack = site});
//     log.Free(0x1000);
//     ASSERT_TRUE(log.WriteTo(path).ok());
//
// Named frames are written as Python frames ("function (file:line)"), so that they symbolise
// without binaries. Time advances by 1000 ns per event unless set. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analysis/base/types.h"
#include "proto/memprof.pb.h"

namespace memprof::analysis::testing {

struct EventFields {
  int device = 0;
  int stack = 0;  // from Stack(); 0 = none
  std::uint32_t thread = 1;
  std::uint64_t stream = 0;
  std::uint64_t aux0 = 0, aux1 = 0;
  std::uint32_t result = 0;
  std::uint32_t context = 0;
  std::string api;
  std::uint32_t weight = 0;
};

class LogBuilder {
 public:
  LogBuilder();
  ~LogBuilder();

  // Definitions.
  void Device(int ordinal, std::uint64_t capacity_bytes, const std::string& name = "test GPU");
  void Thread(std::uint32_t id, std::uint32_t tid, const std::string& name);
  void Context(std::uint32_t id, int device);
  std::uint32_t String(const std::string& value);
  int Stack(const std::vector<std::string>& frames_outermost_first);
  int Tensor(const std::string& name, const std::string& dtype,
             const std::vector<std::uint64_t>& shape);

  // Events, in order.
  void Alloc(Layer layer, std::uint64_t address, std::uint64_t bytes,
             const EventFields& fields = {});
  void Free(std::uint64_t address, const EventFields& fields = {});
  void Free(Layer layer, std::uint64_t address, const EventFields& fields = {});
  void AllocFailed(Layer layer, std::uint64_t bytes, const EventFields& fields = {});
  void TensorCreate(std::uint64_t address, std::uint64_t bytes, int tensor,
                    const EventFields& fields = {});
  void Step(std::uint64_t number);
  void RangePush(const std::string& name, std::uint32_t thread = 1);
  void RangePop(std::uint32_t thread = 1);
  void Snapshot(const std::string& label);
  void Event(Op op, Layer layer, std::uint64_t address, std::uint64_t bytes, std::uint32_t label,
             const EventFields& fields = {});
  void SetTime(std::uint64_t ns);      // of the next event
  void AdvanceTime(std::uint64_t ns);  // before the next event
  void Count(const std::string& anomaly, std::uint64_t value);
  void SourceState(const std::string& name, int state, const std::string& detail = "");
  log::SelfAccounting& self();      // what recording cost, to set before WriteTo
  log::Header& header();            // to change before WriteTo
  log::Definitions& definitions();  // likewise: modules, pools, native frames

  struct WriteOptions {
    int events_per_chunk = 4096;
    bool compress = true;
    bool trailer = true;  // false = as after a crash
    bool index = true;
  };
  // The log as bytes, and written to a new file.
  std::string Bytes(const WriteOptions& options) const;
  std::string Bytes() const { return Bytes(WriteOptions()); }
  absl::Status WriteTo(const std::string& path, const WriteOptions& options) const;
  absl::Status WriteTo(const std::string& path) const { return WriteTo(path, WriteOptions()); }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memprof::analysis::testing
