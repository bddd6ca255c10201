// Names, severities and advice of the anomalies of a log, from proto/anomalies.h.
#pragma once

#include "proto/anomalies.h"
#include "proto/memprof.pb.h"

namespace memprof::viewer {

struct AnomalyText {
  const char* name;
  log::Severity severity;
  const char* advice;
};

// By the number of the anomaly.
inline constexpr AnomalyText kAnomalies[] = {
#define MEMPROF_ANOMALY_TEXT(identifier, name, severity, advice) \
  {name, log::Severity::severity, advice},
    MEMPROF_ANOMALIES(MEMPROF_ANOMALY_TEXT)
#undef MEMPROF_ANOMALY_TEXT
};

}  // namespace memprof::viewer
