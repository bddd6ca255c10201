// Valid logs to start fuzzing from.
#pragma once

#include <random>
#include <string>

#include "analysis/testing/log_builder.h"

namespace memprof::fuzz {

// A log of `events` events in which every op and every layer may occur, in any order.
std::string RichLog(std::mt19937& random, int events,
                    const analysis::testing::LogBuilder::WriteOptions& options = {});

}  // namespace memprof::fuzz
