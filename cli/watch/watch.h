// memprof watch: the figures of running programs for Prometheus and OpenTelemetry, and alerts.
#pragma once

namespace memprof::cli {

int WatchVerb(int argc, char** argv);

}  // namespace memprof::cli
