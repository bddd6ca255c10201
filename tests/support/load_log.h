// Loads the log of a LogBuilder, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis::testing {

// With the steps that the log marks, unless `load` says otherwise. Null after a failed expectation.
inline std::shared_ptr<const Session> LoadLog(const LogBuilder& log,
                                              const LogBuilder::WriteOptions& options = {},
                                              const LoadOptions& load = {.find_steps = false}) {
  const TempDirectory directory;
  auto session = LoadLogs({directory.Write("test.mprof", log.Bytes(options))}, load);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *session : nullptr;
}

inline std::uint64_t CountOf(const Session& session, log::Anomaly anomaly) {
  for (const AnomalyCount& count : session.anomalies())
    if (count.anomaly == anomaly) return count.count;
  return 0;
}

}  // namespace memprof::analysis::testing
