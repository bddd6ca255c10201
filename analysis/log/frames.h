// A stream of frames between two memprofs, such as the two ends of `memprof view ssh://…`. A frame
// looks like a chunk of a log (proto/framing.h): its sizes are bounded, its checksum is verified,
// and its payload is compressed where that helps. The stream is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace memprof::analysis {

inline constexpr std::size_t kMostFrameBytes = 4u << 20;  // of a payload, compressed or not

// `payload` is at most kMostFrameBytes.
void AppendFrame(std::uint16_t kind, const std::string& payload, std::string* out);

struct StreamFrame {
  std::uint16_t kind = 0;
  std::string payload;
};

// Takes the stream in pieces. Not thread-safe.
class FrameReader {
 public:
  void Add(std::string_view bytes) { bytes_.append(bytes); }
  // The next frame; none until the rest of it is there. Error: kDataLoss; nothing can follow.
  absl::StatusOr<std::optional<StreamFrame>> Next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  // of what is not read
};

}  // namespace memprof::analysis
