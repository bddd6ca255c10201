// Actions of PyTorch's allocator as events.
#include "analysis/interchange/internal/torch_device_writer.h"

#include <algorithm>

#include "analysis/interchange/internal/constants.h"

namespace memprof::analysis::torch {
void DeviceWriter::AddLinear(const Segment& segment, std::uint32_t stack, std::uint64_t time_ns) {
  LogWriter::Event event =
      Make(Op::kAlloc, Layer::kLinear, time_ns, segment.address, segment.bytes);
  event.stack = stack;
  event.api = log_.String("cudaMalloc");
  log_.Add(event);
  event.layer = Layer::kSegment;
  event.api = 0;
  event.stream = streams_[segment.address] = segment.stream;
  event.aux1 = segment.pool != 0 ? segment.pool : pools_[segment.address];
  log_.Add(event);
}

// Pages that are unmapped together are mapped together here, so that each mapping ends as a whole.
void DeviceWriter::AddMapped(const Segment& segment, std::uint32_t stack, std::uint64_t time_ns) {
  Segment piece = segment;
  const std::uint64_t end = EndAddress(segment.address, segment.bytes);
  while (piece.address < end) {
    const auto cut = cuts_.upper_bound(piece.address);
    piece.bytes = (cut == cuts_.end() ? end : std::min(end, *cut)) - piece.address;
    AddPiece(piece, stack, time_ns);
    piece.address += piece.bytes;
  }
}

void DeviceWriter::AddPiece(const Segment& piece, std::uint32_t stack, std::uint64_t time_ns) {
  LogWriter::Event event =
      Make(Op::kAlloc, Layer::kVmmPhysical, time_ns, piece.address, piece.bytes);
  event.stack = stack;
  event.api = log_.String("cuMemCreate");
  log_.Add(event);
  LogWriter::Event map = Make(Op::kMap, Layer::kVmmPhysical, time_ns, piece.address, piece.bytes);
  map.aux0 = piece.address;
  map.api = log_.String("cuMemMap");
  log_.Add(map);
  event.layer = Layer::kSegment;
  event.api = 0;
  event.stream = streams_[piece.address] = piece.stream;
  event.aux1 = piece.pool;
  log_.Add(event);
  pieces_[piece.address] = piece.bytes;
}

void DeviceWriter::RemoveSegment(const Segment& segment, std::uint32_t stack,
                                 std::uint64_t time_ns) {
  const auto free = [&](Layer layer, std::uint64_t address, std::string_view api) {
    LogWriter::Event event = Make(Op::kFree, layer, time_ns, address, 0);
    event.stack = stack;
    event.api = log_.String(api);
    log_.Add(event);
  };
  if (!segment.expandable) {
    free(Layer::kSegment, segment.address, "");
    free(Layer::kLinear, segment.address, "cudaFree");
    streams_.erase(segment.address);
    return;
  }
  const std::uint64_t end = EndAddress(segment.address, segment.bytes);
  auto piece = pieces_.lower_bound(segment.address);
  while (piece != pieces_.end() && piece->first < end) {
    free(Layer::kSegment, piece->first, "");
    LogWriter::Event unmap =
        Make(Op::kUnmap, Layer::kVmmPhysical, time_ns, piece->first, piece->second);
    unmap.api = log_.String("cuMemUnmap");
    log_.Add(unmap);
    free(Layer::kVmmPhysical, piece->first, "cuMemRelease");
    streams_.erase(piece->first);
    piece = pieces_.erase(piece);
  }
}

// The usual free: nothing to wait for, and both halves are alike.
bool DeviceWriter::FreedAtOnce(std::size_t i) const {
  if (i + 1 >= device_.trace.size()) return false;
  const Entry& request = device_.trace[i];
  const Entry& completion = device_.trace[i + 1];
  return completion.action == Action::kFreeCompleted && completion.address == request.address &&
         completion.time_us == request.time_us && completion.bytes == request.bytes;
}

void DeviceWriter::TakeOom(const Entry& entry, LogWriter::Event event) {
  event.bytes = entry.bytes;
  event.address = 0;
  LogWriter::Event failed = event;
  failed.op = Op::kAllocFailed;
  failed.layer = Layer::kLinear;
  failed.result = kOutOfMemory;
  failed.aux0 = entry.address;  // here the address is the free memory
  // A snapshot does not have the size of the device: at least this much.
  const std::uint64_t reserved = state_.reserved[ooms_];
  if (entry.address != 0 && entry.address <= ~reserved) failed.aux1 = entry.address + reserved;
  failed.api = log_.String("cudaMalloc");
  log_.Add(failed);
  event.op = Op::kFrameworkOom;
  event.aux0 = state_.allocated[ooms_];
  event.aux1 = state_.reserved[ooms_++];
  log_.Add(event);
}

void DeviceWriter::Take(std::size_t i, std::uint64_t time_ns) {
  const Entry& entry = device_.trace[i];
  LogWriter::Event event =
      Make(Op::kUnspecified, Layer::kBlock, time_ns, entry.address, entry.bytes);
  event.stream = entry.stream;
  event.stack = names_.Stack(entry.frames);
  event.label = names_.Label(entry.metadata);
  Segment segment;
  segment.address = entry.address;
  segment.bytes = entry.bytes;
  segment.stream = entry.stream;
  segment.expandable = entry.action == Action::kSegmentMap || entry.action == Action::kSegmentUnmap;
  switch (entry.action) {
    case Action::kAlloc:
      event.op = Op::kAlloc;
      event.aux0 = entry.bytes;
      event.bytes = state_.block_bytes[i];
      return log_.Add(event);
    case Action::kFreeRequested:
      if (FreedAtOnce(i)) return;
      event.op = Op::kFreeRequested;
      return log_.Add(event);
    case Action::kFreeCompleted:
      event.op = Op::kFree;
      event.bytes = 0;
      return log_.Add(event);
    case Action::kSegmentAlloc:
      return AddLinear(segment, event.stack, time_ns);
    case Action::kSegmentMap:
      return AddMapped(segment, event.stack, time_ns);
    case Action::kSegmentFree:
    case Action::kSegmentUnmap:
      return RemoveSegment(segment, event.stack, time_ns);
    case Action::kOom:
      event.layer = Layer::kUnspecified;
      return TakeOom(entry, event);
    case Action::kSnapshot:
      event.op = Op::kSnapshot;
      event.layer = Layer::kUnspecified;
      event.address = event.bytes = event.stream = 0;
      event.label = log_.String("torch.cuda.memory._snapshot()");
      return log_.Add(event);
    case Action::kUnknown:
      return;
  }
}

}  // namespace memprof::analysis::torch
