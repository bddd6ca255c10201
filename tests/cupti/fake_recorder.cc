// A recorder that stores everything that it is told.
#include "tests/cupti/fake_recorder.h"

#include <dlfcn.h>

namespace memprof::cupti_test {

FakeRecorder& FakeRecorder::Get() {
  static auto* recorder = new FakeRecorder;
  return *recorder;
}

const RecorderApi* FakeRecorder::api() const {
  static constexpr RecorderApi kApi = {
      kSourceApiVersion, &Record,      &DriverCall,   &FunctionId, &PoolOnHost,
      &Intern,           &SourceState, &CountAnomaly, &InsideHook, &RealDriverFunction};
  return &kApi;
}

void FakeRecorder::Reset() {
  const std::lock_guard lock(mutex_);
  events_.clear();
  states_.clear();
  anomalies_.clear();
  functions_.clear();
  on_record_ = nullptr;
  inside_hook_ = false;
  pool_on_host_ = 0;
}

std::vector<SourceEvent> FakeRecorder::Events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::vector<SourceEvent> FakeRecorder::Events(std::uint32_t op) const {
  std::vector<SourceEvent> found;
  for (const SourceEvent& event : Events()) {
    if (event.op == op) found.push_back(event);
  }
  return found;
}

std::vector<StateChange> FakeRecorder::States() const {
  const std::lock_guard lock(mutex_);
  return states_;
}

std::uint64_t FakeRecorder::Anomalies(int anomaly) const {
  const std::lock_guard lock(mutex_);
  const auto found = anomalies_.find(anomaly);
  return found == anomalies_.end() ? 0 : found->second;
}

std::string FakeRecorder::Text(std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  return id < texts_.size() ? texts_[id] : "unknown id";
}

std::uint32_t FakeRecorder::TextId(const std::string& text) {
  return Intern(text.data(), text.size());
}

void FakeRecorder::SetDriverFunction(const std::string& name, void* function) {
  const std::lock_guard lock(mutex_);
  functions_[name] = function;
}

void FakeRecorder::Record(const SourceEvent* event) {
  FakeRecorder& self = Get();
  std::function<void(const SourceEvent&)> hook;
  {
    const std::lock_guard lock(self.mutex_);
    self.events_.push_back(*event);
    hook = self.on_record_;
  }
  if (hook) hook(*event);
}

std::uint32_t FakeRecorder::Intern(const char* text, std::size_t length) {
  FakeRecorder& self = Get();
  const std::lock_guard lock(self.mutex_);
  const auto [found, added] = self.ids_.try_emplace(std::string(text, length),
                                                    static_cast<std::uint32_t>(self.texts_.size()));
  if (added) self.texts_.emplace_back(text, length);
  return found->second;
}

void FakeRecorder::SourceState(const char* name, std::uint32_t state, const char* detail) {
  FakeRecorder& self = Get();
  const std::lock_guard lock(self.mutex_);
  self.states_.push_back({state, std::string(name) + ": " + detail});
}

void FakeRecorder::CountAnomaly(int anomaly, std::uint64_t add) {
  FakeRecorder& self = Get();
  const std::lock_guard lock(self.mutex_);
  self.anomalies_[anomaly] += add;
}

void FakeRecorder::DriverCall(const SourceCall* call) {
  SourceEvent event{};
  event.op = call->is_exit != 0 ? kReportedExit : kReportedEntry;
  event.api = static_cast<std::uint32_t>(call->function);
  event.result = call->result;
  // For the simplest functions also the arguments and the results.
  const std::string name = Get().Text(event.api);
  const auto* words = static_cast<const std::uint64_t*>(call->parameters);
  if (name == "cuMemFree_v2") event.address = words[0];
  if (name == "cuMemAlloc_v2" && call->is_exit != 0 && call->result == 0) {
    event.address = *reinterpret_cast<const std::uint64_t*>(words[0]);
    event.bytes = words[1];
  }
  if (call->kept != nullptr && call->is_exit == 0) *call->kept = 0x6b657074;
  event.aux0 = call->kept == nullptr ? 0 : *call->kept;
  Record(&event);
}

// Only functions of memory and contexts; as in the recorder, uses of memory have no id.
std::int32_t FakeRecorder::FunctionId(const char* name) {
  const std::string text = name;
  for (const char* use : {"cuMemcpy", "cuMemset", "cuLaunch", "cuStream", "cuCtxSync", "cuDriver",
                          "cuModule", "cuLibrary", "cuKernel"})
    if (text.starts_with(use)) return -1;
  return static_cast<std::int32_t>(Get().TextId(text));
}

int FakeRecorder::PoolOnHost(std::uint64_t pool) { return pool == Get().pool_on_host_ ? 1 : 0; }

int FakeRecorder::InsideHook() { return Get().inside_hook_ ? 1 : 0; }

void* FakeRecorder::RealDriverFunction(const char* name) {
  FakeRecorder& self = Get();
  {
    const std::lock_guard lock(self.mutex_);
    const auto found = self.functions_.find(name);
    if (found != self.functions_.end()) return found->second;
  }
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : dlsym(driver, name);
}

}  // namespace memprof::cupti_test
