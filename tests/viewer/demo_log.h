// A small training run for tests and pictures: a caching allocator's segments, blocks and tensors
// over steps, one seeded leak, a raw driver allocation, a snapshot.
#pragma once

#include <QByteArray>
#include <QString>
#include <QTemporaryDir>
#include <string>

#include "analysis/testing/log_builder.h"

namespace memprof::viewer::testing {

struct DemoOptions {
  int steps = 50;
  bool leak = true;
  bool framework = true;  // false: only driver allocations
  std::uint64_t capacity = 1ull << 30;
};

// Fills the builder of the log, which the caller may extend before writing.
void FillDemoLog(analysis::testing::LogBuilder& log, const DemoOptions& options = {});

// Writes the demo log into a directory; returns its path ("" on failure).
QString WriteDemoLog(const QTemporaryDir& directory, const DemoOptions& options = {});

// As if this process, which is alive, recorded the log; `directory` gets its ring.
void RecordedByThisProcess(analysis::testing::LogBuilder& log, const QTemporaryDir& directory);

// The bytes of a log as if a later version of memprof had written it.
QByteArray OfVersion(QByteArray log, char version);

// Figures of the log of FillDemoLog, for comparison in tests.
inline constexpr std::uint64_t kLeakBytes = 1ull << 20;  // each step
inline constexpr const char* kLeakFunction = "LossHistory::Append";

}  // namespace memprof::viewer::testing
