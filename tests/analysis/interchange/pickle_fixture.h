// Hand-written pickles, parsed to values.
#pragma once

#include <gtest/gtest.h>

#include "analysis/pickle/pickle.h"
#include "analysis/report/report.h"

namespace memprof::analysis::testing {

using Kind = PickleValue::Kind;

// Keeps the bytes that the pickle refers to.
struct Parsed {
  explicit Parsed(std::string text) : bytes(std::move(text)), pickle(Pickle::Parse(bytes)) {}
  std::string bytes;
  absl::StatusOr<Pickle> pickle;

  std::string error() const { return std::string(pickle.status().message()); }
};

// One value: protocol 4, `opcodes`, STOP.
inline std::string Of(const std::string& opcodes) { return "\x80\x04" + opcodes + "."; }

inline PickleValue Root(const Parsed& parsed) {
  EXPECT_TRUE(parsed.pickle.ok()) << parsed.pickle.status();
  return parsed.pickle.ok() ? parsed.pickle->root() : PickleValue();
}

}  // namespace memprof::analysis::testing
