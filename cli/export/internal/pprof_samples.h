// The samples of a pprof profile: allocations with the same stack and labels are one sample.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::cli {

// Objects and bytes: allocated, in use at the end, live at the peak of their device.
using PprofValues = std::array<std::uint64_t, 6>;

struct PprofSample {
  analysis::StackId stack;
  analysis::Layer layer = analysis::Layer::kUnspecified;
  std::int16_t device = analysis::kNoDevice;
  std::string_view tensor;  // its name, as the session has it; "" = none
  PprofValues values = {};
};

// Of `memory` ("used", "driver", "tensors" or "host"), every byte once; in order of first births.
std::vector<PprofSample> AddUpSamples(const analysis::Session& session, std::string_view memory);

}  // namespace memprof::cli
