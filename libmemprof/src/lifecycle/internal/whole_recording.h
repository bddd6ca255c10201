// A recorder and the layers above it, which the writer's thread also serves.
#pragma once

#include "libmemprof/src/recording/recorder.h"
#include "libmemprof/src/torch/layer.h"

namespace memprof::recorder {

class WholeRecording {
 public:
  // The writer calls `serve_requests` before each drain, and `switch_off` when it cannot go on.
  WholeRecording(const Settings& settings, void (*serve_requests)(void*),
                 void (*switch_off)(void*));
  WholeRecording(const WholeRecording&) = delete;
  WholeRecording& operator=(const WholeRecording&) = delete;

  Recorder* recorder() { return &recorder_; }
  // Makes this the current recording of the process; null for none.
  static void Use(WholeRecording* recording);

 private:
  Housekeeping Tasks(void (*serve_requests)(void*), void (*switch_off)(void*));
  void ReportTorchSource(bool ending);
  void ReportTorchRelease();

  Recorder recorder_;
  TorchLayer torch_;
  bool release_reported_ = false;  // only the writer's thread uses it
};

}  // namespace memprof::recorder
