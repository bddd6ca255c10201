// A recorder with what is above it: what the writer's thread looks after.
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
  // Makes it, or nothing, that of this process.
  static void Use(WholeRecording* recording);

 private:
  Housekeeping Tasks(void (*serve_requests)(void*), void (*switch_off)(void*));
  void TellTorchSource(bool ending);

  Recorder recorder_;
  TorchLayer torch_;
};

}  // namespace memprof::recorder
