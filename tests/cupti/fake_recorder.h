// A recorder for tests of the CUPTI source: stores everything that it is told.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "libmemprof/src/source_api/source_api.h"

namespace memprof::cupti_test {

// Ops of reported driver calls, stored in order among the events: api is the function, and at the
// exit result is its result.
inline constexpr std::uint32_t kReportedEntry = 200, kReportedExit = 201;

struct StateChange {
  std::uint32_t state;
  std::string detail;
};

class FakeRecorder {
 public:
  // The only instance, as a process has only one recorder.
  static FakeRecorder& Get();
  const RecorderApi* api() const;

  void Reset();
  std::vector<SourceEvent> Events() const;
  // Only the events with this op.
  std::vector<SourceEvent> Events(std::uint32_t op) const;
  std::vector<StateChange> States() const;
  std::uint64_t Anomalies(int anomaly) const;
  std::string Text(std::uint32_t id) const;
  std::uint32_t TextId(const std::string& text);

  // The result of real_driver_function; by default the function that libcuda.so.1 exports, if it is
  // loaded.
  void SetDriverFunction(const std::string& name, void* function);
  void SetInsideHook(bool inside) { inside_hook_ = inside; }
  void SetPoolOnHost(std::uint64_t pool) { pool_on_host_ = pool; }
  // Called for every event, outside the lock.
  void OnRecord(std::function<void(const SourceEvent&)> hook) { on_record_ = std::move(hook); }

 private:
  static void Record(const SourceEvent* event);
  static std::uint32_t Intern(const char* text, std::size_t length);
  static void SourceState(const char* name, std::uint32_t state, const char* detail);
  static void CountAnomaly(int anomaly, std::uint64_t add);
  static void DriverCall(const SourceCall* call);
  static std::int32_t FunctionId(const char* name);
  static int PoolOnHost(std::uint64_t pool);
  static int InsideHook();
  static void* RealDriverFunction(const char* name);

  mutable std::mutex mutex_;
  std::vector<SourceEvent> events_;
  std::vector<StateChange> states_;
  std::map<int, std::uint64_t> anomalies_;
  std::map<std::string, std::uint32_t> ids_;
  std::vector<std::string> texts_{""};
  std::map<std::string, void*> functions_;
  std::function<void(const SourceEvent&)> on_record_;
  bool inside_hook_ = false;
  std::uint64_t pool_on_host_ = 0;
};

}  // namespace memprof::cupti_test
