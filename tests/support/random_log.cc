// The simple allocator behind random logs.
#include "tests/support/random_log.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace memprof::analysis::testing {

RandomLog::RandomLog(const RandomLogOptions& options)
    : options_(options),
      random_(options.seed),
      devices_(options.devices),
      next_address_(options.first_address) {
  for (int d = 0; d < options.devices; ++d) log_.Device(d, std::uint64_t{8} << 30);
  for (int i = 0; i < 12; ++i) {
    const std::string line = std::to_string(i + 1 + options.line_shift);
    std::vector<std::string> frames = {
        "main (train.cc:1)", "Train" + std::to_string(i % 3) + " (train.cc:" + line + ")"};
    if (i % 2 == 1) frames.push_back("Forward (model.cc:" + line + ")");
    if (i % 4 == 3) frames.push_back("Train0 (train.cc:7)");  // recursion
    stacks_.push_back(log_.Stack(frames));
  }
  for (int i = 0; i < 5; ++i) {
    tensors_.push_back(log_.Tensor("tensor" + std::to_string(i), "float32", {2, 3}));
  }
  const int per_step = options.steps > 0 ? options.operations / options.steps : 0;
  for (int i = 0; i < options.operations; ++i) {
    if (per_step > 0 && i % per_step == per_step / 2) log_.Step(i / per_step);
    Operate(static_cast<int>(Random(options.devices)));
  }
}

EventFields RandomLog::Fields(int device) {
  EventFields fields;
  fields.device = device;
  const std::uint64_t stack = Random(stacks_.size() + 1);
  fields.stack = stack == stacks_.size() ? 0 : stacks_[stack];
  fields.thread = 1 + static_cast<std::uint32_t>(Random(3));
  return fields;
}

void RandomLog::Operate(int device) {
  switch (Random(10)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return NewBlock(device);
    case 4:
    case 5:
      return FreeBlock(device);
    case 6:
      return NewRaw(device);
    case 7:
      return FreeRaw(device);
    case 8:
      return ToggleTensor(device);
    default:
      return FreeEmptySegment(device);
  }
}

void RandomLog::NewBlock(int device) {
  const std::uint64_t bytes = (1 + Random(24)) * options_.grain;
  EventFields fields = Fields(device);
  fields.aux0 = bytes - Random(options_.grain);  // the requested size
  for (Segment& segment : devices_[device].segments) {
    std::uint64_t cursor = segment.address + Random(2) * options_.grain;
    for (const auto& [address, size] : segment.blocks) {
      if (address >= cursor + bytes) break;
      cursor = std::max(cursor, address + size);
    }
    if (cursor + bytes > segment.address + options_.segment_bytes) continue;
    segment.blocks[cursor] = bytes;
    log_.Alloc(Layer::kBlock, cursor, bytes, fields);
    return;
  }
  const std::uint64_t address = next_address_;
  next_address_ += options_.segment_bytes * (1 + Random(2));
  log_.Alloc(Layer::kLinear, address, options_.segment_bytes, Fields(device));
  log_.Alloc(Layer::kSegment, address, options_.segment_bytes, Fields(device));
  devices_[device].segments.push_back({address, {{address, bytes}}});
  log_.Alloc(Layer::kBlock, address, bytes, fields);
}

void RandomLog::FreeBlock(int device) {
  auto& segments = devices_[device].segments;
  if (segments.empty()) return;
  Segment& segment = segments[Random(segments.size())];
  if (segment.blocks.empty()) return;
  const auto block =
      std::next(segment.blocks.begin(), static_cast<std::ptrdiff_t>(Random(segment.blocks.size())));
  if (devices_[device].tensors.erase(block->first) > 0) {
    log_.Free(Layer::kTensor, block->first, Fields(device));
  }
  log_.Free(Layer::kBlock, block->first, Fields(device));
  segment.blocks.erase(block);
}

void RandomLog::NewRaw(int device) {
  static constexpr Layer kLayers[] = {Layer::kLinear, Layer::kPitched, Layer::kManaged,
                                      Layer::kStreamOrdered, Layer::kPinned};
  const Layer layer = kLayers[Random(std::size(kLayers))];
  const std::uint64_t bytes = 1 + Random(200'000);
  EventFields fields = Fields(layer == Layer::kPinned ? kNoDevice : device);
  if (layer == Layer::kStreamOrdered) fields.aux0 = 0xbeef00 + static_cast<std::uint64_t>(device);
  const std::uint64_t address = next_address_;
  next_address_ += (bytes + 4095) / 4096 * 4096;
  log_.Alloc(layer, address, bytes, fields);
  devices_[device].raw.emplace_back(layer, address);
  if (layer == Layer::kStreamOrdered) {
    log_.Event(Op::kPoolSample, Layer::kUnspecified, fields.aux0, Random(600'000), 0,
               {.device = device});
  }
}

void RandomLog::FreeRaw(int device) {
  auto& raw = devices_[device].raw;
  if (raw.empty()) return;
  const std::size_t i = Random(raw.size());
  log_.Free(raw[i].first, raw[i].second,
            Fields(raw[i].first == Layer::kPinned ? kNoDevice : device));
  raw.erase(raw.begin() + static_cast<std::ptrdiff_t>(i));
}

void RandomLog::FreeEmptySegment(int device) {
  auto& segments = devices_[device].segments;
  for (auto it = segments.begin(); it != segments.end(); ++it) {
    if (!it->blocks.empty()) continue;
    log_.Free(Layer::kSegment, it->address, Fields(device));
    log_.Free(Layer::kLinear, it->address, Fields(device));
    segments.erase(it);
    return;
  }
}

void RandomLog::ToggleTensor(int device) {
  for (const Segment& segment : devices_[device].segments) {
    for (const auto& [address, bytes] : segment.blocks) {
      if (Random(4) != 0) continue;
      if (devices_[device].tensors.erase(address) > 0) {
        log_.Free(Layer::kTensor, address, Fields(device));
      } else {
        devices_[device].tensors.insert(address);
        log_.TensorCreate(address, 1 + Random(bytes), tensors_[Random(tensors_.size())],
                          Fields(device));
      }
      return;
    }
  }
}

std::vector<std::pair<int, std::uint64_t>> RandomLog::live_blocks() const {
  std::vector<std::pair<int, std::uint64_t>> live;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    for (const Segment& segment : devices_[d].segments) {
      for (const auto& [address, bytes] : segment.blocks) {
        live.emplace_back(static_cast<int>(d), address);
      }
    }
  }
  return live;
}

}  // namespace memprof::analysis::testing
