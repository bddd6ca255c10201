// Runs `memprof run` on a guest.
#pragma once

#include <gtest/gtest.h>

#include "analysis/load/load.h"
#include "analysis/store/session.h"
#include "analysis/testing/column.h"
#include "cli/run/run.h"
#include "cli/run/sim.h"
#include "tests/integration/harness.h"

namespace memprof::testing {

inline GuestResult MemprofRun(const TempDirectory& directory, std::vector<std::string> arguments) {
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = std::move(arguments);
  return RunProgram(BuildPath("bin/test_memprof_run"), options);
}

}  // namespace memprof::testing
