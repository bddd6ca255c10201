// The tables of a log that a test builds.
#pragma once

#include <memory>
#include <utility>

#include "analysis/fleet/fleet.h"
#include "tests/support/load_log.h"

namespace memprof::analysis::testing {

struct Fleet {
  explicit Fleet(std::shared_ptr<const Session> opened)
      : session(std::move(opened)), symbols(session), rows(RollUp(session, symbols)) {}
  explicit Fleet(const LogBuilder& log) : Fleet(LoadLog(log)) {}
  std::shared_ptr<const Session> session;
  Symbols symbols;
  FleetRows rows;
};

}  // namespace memprof::analysis::testing
