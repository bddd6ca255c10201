// The buffers of PyTorch's sums over rows, such as a bias's gradient: they exist from some number
// of rows on and do not grow in proportion, so runs with small inputs do not show them.
//
// Of rows × columns, a sum gives each thread several rows of up to 4 neighbouring columns. Where
// that is 256 rows or more, several blocks of threads share a column and leave partial sums in a
// buffer (aten/src/ATen/native/cuda/Reduce.cuh). How many depends on the number of multiprocessors.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/allocators/asked.h"
#include "analysis/allocators/trace.h"
#include "analysis/footprint/fit.h"

namespace memprof::analysis {

struct Multiprocessors {
  std::uint64_t count = 0;    // 0 = unknown
  std::uint64_t threads = 0;  // that each holds at once
};

// Bytes of the buffer for the partial sums of a matrix, which are of 32 bits; 0 = none.
std::uint64_t PartialSumBytes(std::uint64_t rows, std::uint64_t columns, Multiprocessors device);

// One sum of a trace.
struct ColumnSum {
  std::uint32_t out = 0;     // its result; rows of the trace's blocks
  std::uint32_t buffer = 0;  // if `has_buffer`
  bool has_buffer = false;
  std::uint64_t columns = 0, rows_per_unit = 0;
};

// The sums that follow a linear layer's two products in the backward pass: its input's gradient,
// which grows with the input, its weight's, which does not, and then the result, whose share of
// the weight tells the dimensions. Numbers have 32 bits, or 16 where a copy to 32 bits follows or
// only they explain what was recorded. Only those whose buffers, or none, are as in PartialSumBytes
// at the size of input `batch` of the trace.
std::vector<ColumnSum> FindColumnSums(const allocators::Trace& trace,
                                      const std::vector<SizeModel>& sizes,
                                      const std::vector<allocators::AskedBytes>& asked,
                                      std::uint64_t batch, Multiprocessors device);

// Gives `trace` the buffers that the sums have with an input of `batch`.
void SetColumnSums(const std::vector<ColumnSum>& sums, std::uint64_t batch, Multiprocessors device,
                   allocators::Trace* trace);

}  // namespace memprof::analysis
