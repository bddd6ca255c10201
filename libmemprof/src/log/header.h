// The log's first chunk: which process this is.
#pragma once

#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"

namespace memprof::recorder {

// Appends a log.Header message to `out`. Times as in the message.
void EncodeHeader(std::uint64_t start_ns, std::uint64_t start_unix_ns, const char* ring_path,
                  ByteBuffer* out);

// Whether a "NAME=value" of the environment may stand in a log: only what explains a GPU program,
// never anything that could be a secret.
bool EnvironmentBelongsInLog(const char* variable);

}  // namespace memprof::recorder
