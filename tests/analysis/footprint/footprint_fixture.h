// Footprints of toy programs.
#pragma once

#include <gtest/gtest.h>

#include "analysis/footprint/footprint.h"
#include "tests/support/random_log.h"
#include "tests/support/toy_program.h"

namespace memprof::analysis::testing {

inline std::string Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

inline FootprintInput Record(const ToyProgram& program, std::uint64_t batch) {
  LogBuilder log;
  RunToy(program, batch, &log);
  return {LoadLog(log), batch};
}

inline std::vector<Footprint> Build(const ToyProgram& program,
                                    const std::vector<std::uint64_t>& sizes) {
  std::vector<FootprintInput> inputs;
  for (const std::uint64_t size : sizes) inputs.push_back(Record(program, size));
  auto footprints = BuildFootprints(inputs);
  EXPECT_TRUE(footprints.ok()) << Message(footprints.status());
  return footprints.ok() ? *std::move(footprints) : std::vector<Footprint>();
}

}  // namespace memprof::analysis::testing
