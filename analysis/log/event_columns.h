// The columns of one chunk as decoded: every field at its full width, ids as in the log. Scratch
// memory of a reader; a session stores events in an EventTable.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::analysis {

struct EventColumns {
  std::vector<Op> op;
  std::vector<Layer> layer;
  std::vector<TimeNs> time;
  std::vector<std::uint32_t> thread;
  std::vector<std::int16_t> device;  // ordinal or kNoDevice
  std::vector<std::uint64_t> address;
  std::vector<std::uint64_t> bytes;
  std::vector<StackId> stack;
  std::vector<std::uint64_t> stream;
  std::vector<std::uint32_t> context;
  std::vector<std::uint32_t> label;
  std::vector<StringId> api;
  std::vector<std::uint32_t> result;
  std::vector<std::uint64_t> aux0;
  std::vector<std::uint64_t> aux1;
  std::vector<std::uint32_t> weight;

  std::size_t size() const { return op.size(); }

  // Sets `rows` rows of zeroes.
  void Clear(std::size_t rows) {
    const auto clear = [rows](auto&... column) { (column.assign(rows, {}), ...); };
    clear(op, layer, time, thread, device, address, bytes, stream, context, label, result, aux0,
          aux1, weight);
    stack.assign(rows, StackId(0));
    api.assign(rows, StringId(0));
  }
};

}  // namespace memprof::analysis
