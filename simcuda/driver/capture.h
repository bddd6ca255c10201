// Stream capture: work enqueued to a capturing stream becomes nodes of a graph instead.
#ifndef SIMCUDA_DRIVER_CAPTURE_H
#define SIMCUDA_DRIVER_CAPTURE_H

#include <atomic>
#include <functional>
#include <memory>

#include "simcuda/driver/graph.h"
#include "simcuda/driver/stream.h"

namespace memprof::simcuda {

class Device;

// One capture. It begins on one stream and spreads to others by events; their work is added to the
// graph in the order of the calls, which satisfies every dependency.
struct Capture {
  std::shared_ptr<Graph> graph;
  const Stream* origin = nullptr;
  unsigned long long id = 0;
  std::atomic<bool> ended{false};  // its events are invalid
};

inline bool IsCapturing(const std::shared_ptr<Stream>& stream) {
  return stream->capture() != nullptr;
}

// Adds work to the graph into which the stream captures.
CUresult CaptureWork(const std::shared_ptr<Stream>& stream, CUgraphNodeType type,
                     std::function<void()> work, NodeParameters parameters = {});

// Stream-ordered allocation and release in a captured stream: memory nodes of its graph.
CUresult CaptureAllocation(const std::shared_ptr<Stream>& stream, Device* device, uint64_t bytes,
                           CUdeviceptr* address);
CUresult CaptureFree(const std::shared_ptr<Stream>& stream, CUdeviceptr address);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_CAPTURE_H
