// How memprof names places, times and shapes in its reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/site_groups.h"
#include "analysis/symbols/symbols.h"
#include "proto/anomalies.h"

namespace memprof::cli {

// "Train::Step" of "Train::Step(int, std::vector<…> const&)": a function without its parameters.
std::string ShortFunction(std::string_view function);

// "Step (train.cc:42)", the user's place of `stack`; "(no call stack)". If a package or a helper
// allocated, its line follows the user's: "main (train.py:51), in forward
// (transformers/…/modeling_gpt2.py:123)". If a library allocated for itself, or a framework on its
// behalf, it precedes: "NCCL for Step (train.cc:9)".
std::string SiteLabel(analysis::Symbols& symbols, analysis::StackId stack);
// The same for a group; a library's line only if the whole group shares it.
std::string SiteLabel(analysis::Symbols& symbols, const analysis::SiteGroups& sites,
                      std::uint32_t group);

// SiteLabel() with its caller, for a line of which `column` columns are used: "Clone
// (tensor.cc:42), from Remember (history.cc:9)". What does not fit goes to the next line, indented
// by `indent`.
std::string SiteAndCaller(analysis::Symbols& symbols, analysis::StackId stack, std::size_t column,
                          std::size_t indent);

// "Class::Step (train.cc:42)" of one frame.
std::string FrameLabel(const analysis::SourceFrame& frame);

// "Class::Step" of "a::b::Class::Step": a function's name with one scope around it.
std::string LastScopes(std::string_view function);

// The frames from the site outward as indented lines "function at file:line"; "" for none.
std::string StackLines(analysis::Symbols& symbols, analysis::StackId stack, std::size_t indent,
                       std::size_t max_frames);

// "float32 [64, 128]"; "" for an unknown tensor.
std::string TensorShape(const analysis::TensorInfo* tensor);
std::string TensorName(const analysis::TensorInfo* tensor);

// Time since the log began, e.g. "1.20 s".
std::string Since(const analysis::Session& session, analysis::TimeNs time);
analysis::TimeNs StartTime(const analysis::Session& session);

// " at step 12", or " before the first step", or "" when the log has no steps.
std::string StepLabel(const analysis::Session& session, std::int64_t step);

struct AnomalyText {
  std::string_view name, severity, advice;
};
AnomalyText DescribeAnomaly(log::Anomaly anomaly);

// "off", "on", "refused", "lost".
std::string_view SourceStateName(int state);
// Whether the source gave events at any time.
bool SourceWasOn(int state);

// "alive", "freed", "context_destroyed", …: why a lifetime ended, for JSON.
std::string_view EndReasonName(analysis::EndReason reason);

// Whether any device of the log was the stand-in.
bool Simulated(const analysis::Session& session);

}  // namespace memprof::cli
