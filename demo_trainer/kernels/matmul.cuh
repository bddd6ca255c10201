// Matrix product in register tiles: one call of the body computes a kTileRows x kTileCols tile.
// The inner loop is a broadcast of A times a row of B, which the host compiler vectorises.
#ifndef DEMO_TRAINER_KERNELS_MATMUL_CUH_
#define DEMO_TRAINER_KERNELS_MATMUL_CUH_

#include "demo_trainer/kernels/bf16.h"
#include "demo_trainer/kernels/launch.cuh"

namespace memprof::demo {

inline constexpr int kTileRows = 4;
inline constexpr int kTileCols = 8;

// C[m,n] = A[m,k] B[k,n] (+ C when accumulate) (+ bias[n] when not null). B and C are row-major;
// A is row-major, or stored as its transpose [k,m] when kTransposeA. Sums are float.
template <typename TA, typename TB, typename TC, bool kTransposeA>
struct MatMulTile : CostlyBody {
  const TA* a;
  const TB* b;
  TC* c;
  const float* bias;
  int m, n, k;
  bool accumulate;

  static int64_t Tiles(int64_t m, int64_t n) {
    return ((m + kTileRows - 1) / kTileRows) * ((n + kTileCols - 1) / kTileCols);
  }

  DEMO_HOST_DEVICE float A(int row, int kk) const {
    return ToFloat(kTransposeA ? a[static_cast<int64_t>(kk) * m + row]
                               : a[static_cast<int64_t>(row) * k + kk]);
  }

  DEMO_HOST_DEVICE void Store(int row, int col, float sum) const {
    TC* out = c + static_cast<int64_t>(row) * n + col;
    if (bias != nullptr) sum += bias[col];
    if (accumulate) sum += ToFloat(*out);
    *out = FromFloat<TC>(sum);
  }

  DEMO_HOST_DEVICE void operator()(int64_t tile) const {
    // Neighbouring tiles share columns of B, which then stay in the cache.
    const int tiles_down = (m + kTileRows - 1) / kTileRows;
    const int row0 = static_cast<int>(tile % tiles_down) * kTileRows;
    const int col0 = static_cast<int>(tile / tiles_down) * kTileCols;
    if (row0 + kTileRows <= m && col0 + kTileCols <= n) {
      WholeTile(row0, col0);
    } else {
      PartialTile(row0, col0);
    }
  }

  DEMO_HOST_DEVICE void WholeTile(int row0, int col0) const {
    float sums[kTileRows][kTileCols];
    for (int r = 0; r < kTileRows; ++r) {
      for (int j = 0; j < kTileCols; ++j) sums[r][j] = 0.0f;
    }
    for (int kk = 0; kk < k; ++kk) {
      const TB* b_row = b + static_cast<int64_t>(kk) * n + col0;
      float b_values[kTileCols];
      for (int j = 0; j < kTileCols; ++j) b_values[j] = ToFloat(b_row[j]);
      for (int r = 0; r < kTileRows; ++r) {
        const float a_value = A(row0 + r, kk);
        for (int j = 0; j < kTileCols; ++j) sums[r][j] += a_value * b_values[j];
      }
    }
    for (int r = 0; r < kTileRows; ++r) {
      for (int j = 0; j < kTileCols; ++j) Store(row0 + r, col0 + j, sums[r][j]);
    }
  }

  DEMO_HOST_DEVICE void PartialTile(int row0, int col0) const {
    for (int row = row0; row < row0 + kTileRows && row < m; ++row) {
      for (int col = col0; col < col0 + kTileCols && col < n; ++col) {
        float sum = 0.0f;
        for (int kk = 0; kk < k; ++kk) {
          sum += A(row, kk) * ToFloat(b[static_cast<int64_t>(kk) * n + col]);
        }
        Store(row, col, sum);
      }
    }
  }
};

// out[cols,rows] = in[rows,cols] transposed; index i runs over `out`.
template <typename T>
struct TransposeBody : CheapBody {
  const T* in;
  T* out;
  int rows, cols;
  DEMO_HOST_DEVICE void operator()(int64_t i) const { out[i] = in[(i % rows) * cols + i / rows]; }
};

// Sums of eight neighbouring columns of x[rows,cols] into out: the gradient of a bias.
template <typename T>
struct ColumnSumBody {
  const T* x;
  float* out;
  int rows, cols;
  bool accumulate;
  static constexpr int kColumns = 8;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t group, Lanes lanes) const {
    float sums[kColumns] = {};
    const int first = static_cast<int>(group) * kColumns;
    const int count = cols - first < kColumns ? cols - first : kColumns;
    for (int row = lanes.First(); row < rows; row += lanes.Step()) {
      const T* values = x + static_cast<int64_t>(row) * cols + first;
      for (int j = 0; j < count; ++j) sums[j] += ToFloat(values[j]);
    }
    for (int j = 0; j < count; ++j) {
      const float total = lanes.Sum(sums[j]);
      if (lanes.First() == 0) out[first + j] = total + (accumulate ? out[first + j] : 0.0f);
    }
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_MATMUL_CUH_
