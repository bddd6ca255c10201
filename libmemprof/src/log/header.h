// The first chunk of the log: which process it is of.
#pragma once

#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"
#include "proto/always_on.h"

namespace memprof::recorder {

// Appends a log.Header message to `out`. Times as in the message. `segment`: counted from 1, where
// `always_on` is wanted.
void EncodeHeader(std::uint64_t start_ns, std::uint64_t start_unix_ns, const char* ring_path,
                  const log::AlwaysOnBudget& always_on, std::uint32_t segment, ByteBuffer* out);

// Whether a "NAME=value" of the environment may be written to a log: only variables that explain a
// GPU program, never one that could hold a secret.
bool EnvironmentBelongsInLog(const char* variable);

}  // namespace memprof::recorder
