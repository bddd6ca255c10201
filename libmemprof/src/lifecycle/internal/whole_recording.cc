// The tasks of the writer's thread: about once a second, and at the end.
#include "libmemprof/src/lifecycle/internal/whole_recording.h"

#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/recording/control.h"
#include "libmemprof/src/sources/source_host.h"
#include "libmemprof/src/torch/release.h"

namespace memprof::recorder {

WholeRecording::WholeRecording(const Settings& settings, void (*serve_requests)(void*),
                               void (*switch_off)(void*))
    : recorder_(settings, Tasks(serve_requests, switch_off)),
      torch_(recorder_.definitions(), recorder_.driver()->vmm()) {}

Housekeeping WholeRecording::Tasks(void (*serve_requests)(void*), void (*switch_off)(void*)) {
  Housekeeping tasks;
  tasks.owner = this;
  tasks.before_drain = serve_requests;
  tasks.on_failure = switch_off;
  tasks.each_second = [](void* owner) {
    auto* self = static_cast<WholeRecording*>(owner);
    self->recorder_.stacks()->Refresh();
    CheckCuptiSource();
    self->ReportTorchSource(false);
  };
  tasks.before_finish = [](void* owner) {
    static_cast<WholeRecording*>(owner)->ReportTorchSource(true);
  };
  tasks.at_last_thread = [](void*) { g_control.ending.store(1, std::memory_order_relaxed); };
  tasks.counts = [](void* owner) -> Housekeeping::Counts {
    return {static_cast<WholeRecording*>(owner)->recorder_.stacks()->table().nodes(),
            UnknownVersions()};
  };
  tasks.header = [](void* owner, std::uint32_t segment, std::uint64_t start_ns, ByteBuffer* to) {
    static_cast<WholeRecording*>(owner)->recorder_.EncodeSegmentHeader(segment, start_ns, to);
  };
  return tasks;
}

void WholeRecording::ReportTorchSource(bool ending) {
  const Modules& modules = recorder_.stacks()->modules();
  torch_.ReportSource(modules.torch_loaded(), modules.torch_used(), ending);
  if (modules.torch_loaded() && !release_reported_) ReportTorchRelease();
}

void WholeRecording::ReportTorchRelease() {
  release_reported_ = true;
  char release[64];
  if (ReadTorchRelease(recorder_.stacks()->modules().torch_path(), release, sizeof release))
    recorder_.definitions()->AddFramework("PyTorch", release);
}

void WholeRecording::Use(WholeRecording* recording) {
  SetTorchLayer(recording == nullptr ? nullptr : &recording->torch_);
  SetRecorder(recording == nullptr ? nullptr : &recording->recorder_);
}

}  // namespace memprof::recorder
