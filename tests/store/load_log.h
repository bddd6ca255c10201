// Loads what a LogBuilder says, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "analysis/session.h"
#include "analysis/testing/log_builder.h"
#include "tests/store/temp_file.h"

namespace memprof::analysis::testing {

inline std::shared_ptr<const Session> LoadLog(const LogBuilder& log,
                                              const LogBuilder::WriteOptions& options = {}) {
  const TempDirectory directory;
  auto session = Session::Load(directory.Write("test.mprof", log.Bytes(options)));
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *session : nullptr;
}

inline std::uint64_t CountOf(const Session& session, log::Anomaly anomaly) {
  for (const AnomalyCount& count : session.anomalies())
    if (count.anomaly == anomaly) return count.count;
  return 0;
}

}  // namespace memprof::analysis::testing
