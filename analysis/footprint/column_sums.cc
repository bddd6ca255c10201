// Finds sums over rows in traces, and computes their buffers.
#include "analysis/footprint/column_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "analysis/footprint/internal/asked.h"

namespace memprof::analysis {
namespace {

using allocators::Trace;
using allocators::TraceOp;

constexpr std::uint64_t kPartial = 4;  // bytes of a partial sum
constexpr std::uint64_t kRounding = 512;

std::uint64_t DivideUp(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

bool IsDivisible(double value) { return std::abs(value - std::round(value)) < 1e-6; }

// The dimensions of a linear layer whose gradients have these sizes. Several are possible where
// the result was rounded up: the roundest is taken. False if there are none.
bool Dimensions(const SizeModel& input, const SizeModel& weight, const AskedBytes& out,
                std::uint64_t element, ColumnSum* sum) {
  int best = -1;
  for (std::uint64_t columns = DivideUp(out.least, element); columns <= out.most / element;
       ++columns) {
    const double inner = weight.fixed / static_cast<double>(element * columns);
    if (inner < 2 || !IsDivisible(inner)) continue;
    const double rows = input.per_unit / (static_cast<double>(element) * inner);
    if (rows < 1 || !IsDivisible(rows) || std::countr_zero(columns) <= best) continue;
    best = std::countr_zero(columns);
    sum->columns = columns;
    sum->rows_per_unit = static_cast<std::uint64_t>(std::llround(rows));
  }
  return best >= 0;
}

bool Grows(const SizeModel& size) {
  return size.growth == Growth::kLinear && size.fixed == 0 && size.per_square == 0;
}

// Follows a trace, and knows the last blocks that were not freed soon.
class SumFinder {
 public:
  SumFinder(const Trace& trace, const std::vector<SizeModel>& sizes,
            const std::vector<AskedBytes>& asked)
      : trace_(trace), sizes_(sizes), asked_(asked) {}

  // Before the event. `batch` and `device` are those of the trace.
  bool IsSum(std::size_t event, std::uint64_t batch, Multiprocessors device, ColumnSum* sum) const {
    const allocators::TraceEvent& at = trace_.events[event];
    // Only PyTorch's logs have blocks without requests.
    if (at.op != TraceOp::kAllocate || recent_.size() < 2 || !trace_.blocks[at.number].whole)
      return false;
    const std::uint32_t weight = recent_.back(), input = recent_[recent_.size() - 2];
    constexpr std::uint64_t kMost = 1 << 20;  // of a bias
    const AskedBytes& out = asked_[at.number];
    if (sizes_[at.number].growth != Growth::kConstant || out.most > kMost ||
        sizes_[weight].growth != Growth::kConstant || !Grows(sizes_[input])) {
      return false;
    }
    sum->out = at.number;
    sum->has_buffer = IsBuffer(event + 1);
    if (sum->has_buffer) sum->buffer = trace_.events[event + 1].number;
    // The smallest results can be of anything.
    if (!sum->has_buffer && out.most <= kRounding) return false;
    const std::uint64_t likely = IsCast(event + 1, weight) ? 2 : 4;  // bytes of an element
    for (const std::uint64_t element : {likely, 6 - likely}) {
      if (!Dimensions(sizes_[input], sizes_[weight], out, element, sum)) continue;
      const std::uint64_t bytes = PartialSumBytes(batch * sum->rows_per_unit, sum->columns, device);
      if (sum->has_buffer ? bytes >= asked_[sum->buffer].least && bytes <= asked_[sum->buffer].most
                          : bytes == 0) {
        return true;
      }
    }
    return false;
  }

  void Follow(const allocators::TraceEvent& event) {
    if (event.op == TraceOp::kAllocate) {
      if (recent_.size() == kRecent) recent_.erase(recent_.begin());
      recent_.push_back(event.number);
    } else if (event.op == TraceOp::kFree) {
      std::erase(recent_, event.number);
    }
  }

 private:
  static constexpr std::size_t kRecent = 6;

  // Whether a copy of twice the size of the weight's gradient follows: to 32 bits, from 16.
  bool IsCast(std::size_t event, std::uint32_t weight) const {
    constexpr std::size_t kSoon = 12;
    for (std::size_t i = event; i < std::min(event + kSoon, trace_.events.size()); ++i) {
      if (trace_.events[i].op != TraceOp::kAllocate) continue;
      const SizeModel& copy = sizes_[trace_.events[i].number];
      if (copy.growth == Growth::kConstant &&
          std::abs(copy.fixed - 2 * sizes_[weight].fixed) <= 2 * kRounding) {
        return true;
      }
    }
    return false;
  }

  // Two requests, of the buffer and of a few counters, that are freed at once.
  bool IsBuffer(std::size_t event) const {
    if (event + 3 >= trace_.events.size()) return false;
    const allocators::TraceEvent buffer = trace_.events[event], counters = trace_.events[event + 1];
    return buffer.op == TraceOp::kAllocate && counters.op == TraceOp::kAllocate &&
           trace_.blocks[counters.number].bytes <= kRounding &&
           trace_.events[event + 2] == allocators::TraceEvent{TraceOp::kFree, counters.number} &&
           trace_.events[event + 3] == allocators::TraceEvent{TraceOp::kFree, buffer.number};
  }

  const Trace& trace_;
  const std::vector<SizeModel>& sizes_;
  const std::vector<AskedBytes>& asked_;
  std::vector<std::uint32_t> recent_;
};

}  // namespace

std::uint64_t PartialSumBytes(std::uint64_t rows, std::uint64_t columns, Multiprocessors device) {
  if (device.count == 0 || rows == 0 || columns == 0) return 0;
  constexpr std::uint64_t kThreads = 512, kWarp = 32, kLeastRows = 16, kMostRows = 256;
  std::uint64_t vector = 4;  // columns of one thread
  while (columns % vector != 0) vector /= 2;
  const std::uint64_t most = kThreads / vector;  // of a block
  const std::uint64_t wide = std::min(most, std::bit_floor(columns / vector));
  const std::uint64_t high = std::min(most, std::bit_floor(rows));
  const std::uint64_t height = std::min(high, most / std::min(wide, kWarp));
  const std::uint64_t width = std::min(wide, most / height);
  if (rows < std::min(height * kLeastRows, kMostRows)) return 0;
  const std::uint64_t each = DivideUp(rows, height);  // rows of one thread
  const std::uint64_t across = DivideUp(columns / vector, width);
  const std::uint64_t at_once = device.count * (device.threads / (width * height));
  if (each < kMostRows || across > at_once) return 0;
  const std::uint64_t blocks = std::max(
      std::min(DivideUp(at_once, across), DivideUp(each, kLeastRows)), DivideUp(each, kMostRows));
  return blocks > 1 ? kPartial * columns * blocks * width * vector : 0;
}

std::vector<ColumnSum> FindColumnSums(const Trace& trace, const std::vector<SizeModel>& sizes,
                                      const std::vector<AskedBytes>& asked, std::uint64_t batch,
                                      Multiprocessors device) {
  std::vector<ColumnSum> sums;
  if (device.count == 0) return sums;
  SumFinder finder(trace, sizes, asked);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    ColumnSum sum;
    if (finder.IsSum(i, batch, device, &sum)) sums.push_back(sum);
    finder.Follow(trace.events[i]);
  }
  return sums;
}

void SetColumnSums(const std::vector<ColumnSum>& sums, std::uint64_t batch, Multiprocessors device,
                   Trace* trace) {
  allocators::TraceEvents events;
  events.reserve(trace->events.size());
  std::size_t next = 0;  // sums are in order
  for (const allocators::TraceEvent event : trace->events) {
    events.push_back(event);
    if (next == sums.size() || event.op != TraceOp::kAllocate || event.number != sums[next].out)
      continue;
    const ColumnSum& sum = sums[next++];
    const std::uint64_t bytes = PartialSumBytes(batch * sum.rows_per_unit, sum.columns, device);
    if (sum.has_buffer) {
      trace->blocks[sum.buffer].bytes = std::max<std::uint64_t>(bytes, 1);
    } else if (bytes > 0) {
      const auto buffer = static_cast<std::uint32_t>(trace->blocks.size());
      const allocators::StreamNumber stream = trace->blocks[sum.out].stream;
      trace->blocks.push_back({bytes, stream, false});
      trace->blocks.push_back({kRounding, stream, false});
      for (const TraceOp op : {TraceOp::kAllocate, TraceOp::kFree}) {
        events.push_back({op, buffer});
        events.push_back({op, buffer + 1});
      }
    }
  }
  trace->events = std::move(events);
}

}  // namespace memprof::analysis
