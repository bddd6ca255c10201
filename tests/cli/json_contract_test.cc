// Exactly the keys that docs/json.md names, with their types: for each verb, on a log with
// everything and on a minimal one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/json_shapes.h"

namespace memprof::cli::testing {
namespace {

// The additional keys of `memprof peak`: the peak without each part.
Json PeakWithSavingsShape() {
  const Json instant = {{"time_ns", "uint"}, {"step", "int"}};
  const Json without = With(instant, {{"peak_bytes", "uint"}, {"saves_bytes", "uint"}});
  Json shape = PeakShape();
  for (const char* list : {"sites", "tensors", "blocks"}) shape[list][0]["without"] = without;
  shape["by_library"][0]["without"] = without;
  shape["by_category"][0]["without?"] = without;  // by the categories of allocations
  shape["by_module?"] = {
      {{"bytes", "uint"}, {"blocks", "uint"}, {"module", "text"}, {"without", without}}};
  // Clang would copy an initializer in braces
  shape["block_sites"] = Json::array({shape["sites"][0]});
  shape["tensor_groups"] = {{{"bytes", "uint"},
                             {"count", "uint"},
                             {"name", "string"},
                             {"shape", "string"},
                             {"site", "text"},
                             {"first_step", "int"},
                             {"last_step", "int"},
                             {"without", without}}};
  shape["without_layer"] = {{"linear?", without},  {"stream-ordered?", without},
                            {"managed?", without}, {"pitched?", without},
                            {"array?", without},   {"graph?", without},
                            {"vmm?", without}};
  shape["allocator_peak?"] = With(instant, {{"bytes", "uint"}});
  return shape;
}

Json EventShape() {
  return {{"seq", "uint"},      {"time_ns", "uint"},  {"thread", "uint"}, {"step", "int"},
          {"op", "text"},       {"layer", "text"},    {"device", "int"},  {"address", "hex"},
          {"bytes", "uint"},    {"stack", {Frame()}}, {"name?", "text"},  {"dtype?", "string"},
          {"shape?", {"uint"}}, {"number?", "uint"},  {"stream?", "hex"}, {"result?", "uint"},
          {"api?", "text"},     {"aux0?", "uint"},    {"aux1?", "uint"},  {"allocation?", "uint"}};
}

TEST(JsonContractTest, Peak) {
  const auto seen =
      Check({"peak", "--json"},
            With(Common(), {{"start_time_ns", "uint"}, {"peaks", {PeakWithSavingsShape()}}}));
  for (const char* path : {".peaks[].blocks[].site", ".peaks[].sites[].without.saves_bytes",
                           ".peaks[].tensors[].without.step", ".peaks[].block_sites[].stack[]",
                           ".peaks[].tensor_groups[].without.peak_bytes",
                           ".peaks[].without_layer.linear.time_ns", ".peaks[].allocator_peak.step"})
    EXPECT_TRUE(seen.contains(path)) << path << " did not occur";
}

// An instant that is not a peak has no savings.
TEST(JsonContractTest, PeakOfAStep) {
  const Logs logs;
  const Result result = Memprof({"peak", "--json", "--step=3", "train.mprof"}, logs.path());
  ASSERT_EQ(result.status, 0) << result.err;
  std::set<std::string> seen;
  ExpectShape(Json::parse(result.out),
              With(Common(), {{"start_time_ns", "uint"}, {"peaks", {PeakShape()}}}), "", &seen);
  EXPECT_TRUE(seen.contains(".peaks[].sites[]"));
}

TEST(JsonContractTest, Source) {
  const Json bytes = {{"live_bytes", "uint"}, {"leaked_bytes", "uint"}};
  const Json device = {{"device", "int"}, {"time_ns", "uint"}, {"step", "int"}, {"total", bytes}};
  // Braces around one Json are a copy of it with Clang.
  const Json files = Json::array({With(bytes, {{"file", "text"}})});
  const auto seen = Check({"source", "--json"},
                          With(Common(), {{"devices", {With(device, {{"files", files}})}}}));
  EXPECT_TRUE(seen.contains(".devices[].files[].leaked_bytes"));
  const Logs logs;
  const Result result =
      Memprof({"source", "--json", "--file=history.cc", "train.mprof"}, logs.path());
  ASSERT_EQ(result.status, 0) << result.err;
  const Json line = {{"line", "uint"}, {"self", bytes}, {"inclusive", bytes}, {"stacks", "uint"}};
  const Json lines = Json::array({line});
  std::set<std::string> of_file;
  ExpectShape(Json::parse(result.out),
              With(Common(), {{"file", "text"}, {"devices", {With(device, {{"lines", lines}})}}}),
              "", &of_file);
  EXPECT_TRUE(of_file.contains(".devices[].lines[].inclusive.leaked_bytes"));
}

TEST(JsonContractTest, Categories) {
  const Json site = {{"bytes", "uint"},  {"blocks", "uint"}, {"confidence", "number"},
                     {"reason", "text"}, {"site", "text"},   {"stack", {Frame()}}};
  const Json device = {{"device", "int"},
                       {"bytes", "uint"},
                       {"time_ns", "uint"},
                       {"step", "int"},
                       {"categories", {With(CategoryShape(), {{"sites", {site}}})}}};
  const auto seen = Check({"categories", "--json"}, With(Common(), {{"devices", {device}}}));
  EXPECT_TRUE(seen.contains(".devices[].categories[].sites[].reason"));
}

TEST(JsonContractTest, Steps) {
  const Json phase = {{"takes_ns", "uint"},
                      {"allocations", "uint"},
                      {"allocated_bytes", "uint"},
                      {"peak_bytes", "uint"}};
  const Json phases = {
      {"forward", phase}, {"backward", phase}, {"optimizer", phase}, {"other", phase}};
  const Json step = {{"number", "int"},           {"begin_ns", "uint"},    {"end_ns", "uint"},
                     {"first_event", "uint"},     {"allocations", "uint"}, {"frees", "uint"},
                     {"allocated_bytes", "uint"}, {"freed_bytes", "uint"}, {"peak_bytes", "uint"},
                     {"after_bytes", "uint"},     {"likeness", "number"},  {"differs", "bool"},
                     {"phases", phases}};
  const auto seen = Check({"steps", "--json"}, With(With(Common(), StepOrigin()),
                                                    {{"used", "bool"}, {"steps", {step}}}));
  EXPECT_TRUE(seen.contains(".steps[].likeness"));
  EXPECT_TRUE(seen.contains(".steps[].phases.backward.takes_ns"));
}

TEST(JsonContractTest, Fragmentation) {
  const Json point = {{"begin_ns", "uint"},
                      {"end_ns", "uint"},
                      {"time_ns", "uint"},
                      {"step", "int"},
                      {"reserved_bytes", "uint"},
                      {"allocated_bytes", "uint"},
                      {"free_bytes", "uint"},
                      {"pinned_bytes", "uint"},
                      {"largest_hole_bytes", "uint"},
                      {"hole_count", "uint"},
                      {"rounding_bytes", "uint"},
                      {"external", "number"},
                      {"sum_of_squares", "number"}};
  const Json series = {{"kind", "text"},         {"device", "int"},         {"stream?", "hex"},
                       {"private_pool?", "hex"}, {"small_blocks?", "bool"}, {"pool?", "hex"},
                       {"worst", point},         {"points", {point}}};
  const auto seen = Check(
      {"fragmentation", "--json"},
      With(With(Common(), Fragmentation()), {{"series", {series}}, {"series_left_out", "number"}}));
  for (const char* path : {".pools[].pins[].blame", ".pools[].holes[].before",
                           ".pools[].pins[].tensor", ".series[].points[].pinned_bytes"})
    EXPECT_TRUE(seen.contains(path)) << path << " did not occur";
}

TEST(JsonContractTest, Verify) {
  Json shape = With(Common(), {{"sound", "bool"},
                               {"has_index", "bool"},
                               {"format_version", "uint"},
                               {"file_bytes", "uint"},
                               {"events", "uint"},
                               {"chunks",
                                {{{"kind", "uint"},
                                  {"name", "text"},
                                  {"chunks", "uint"},
                                  {"stored_bytes", "uint"},
                                  {"raw_bytes", "uint"}}}},
                               {"problems", {"text"}}});
  shape.erase("simulated");
  EXPECT_TRUE(Check({"verify", "--json"}, shape).contains(".chunks[].name"));
}

TEST(JsonContractTest, Top) {
  const Logs logs;
  const Json device = {
      {"device", "int"},         {"name", "string"},           {"total_bytes", "uint"},
      {"used_bytes", "uint"},    {"allocated_bytes", "uint"},  {"reserved_bytes", "uint"},
      {"peak_bytes", "uint"},    {"headroom_bytes", "number"}, {"growth_bytes", "number"},
      {"growth_tier", "string"}, {"steps_to_oom", "number"},   {"seconds_to_oom", "number"},
      {"by_category", "counts"}, {"by_layer", "counts"}};
  const Json leak = {{"tier", "text"},           {"device", "int"}, {"in_use", "bool"},
                     {"growth_bytes", "number"}, {"bytes", "uint"}, {"site", "text"}};
  const Json failure = {{"device", "int"}, {"bytes", "uint"}, {"time_ns", "uint"},
                        {"step", "int"},   {"site", "text"},  {"recovered", "bool"}};
  const Json process = {{"log", "text"},
                        {"command", "text"},
                        {"pid", "uint"},
                        {"host", "string"},
                        {"rank", "int"},
                        {"simulated", "bool"},
                        {"state", "text"},
                        {"end_reason", "string"},
                        {"elapsed_ns", "uint"},
                        {"last_event_ns", "uint"},
                        {"step", "int"},
                        {"steps_completed", "uint"},
                        {"steps_per_second", "number"},
                        {"growth_per", "text"},
                        {"too_early_to_judge", "bool"},
                        {"losses", "counts"},
                        {"devices", {device}},
                        {"leaks", {leak}},
                        {"failed_requests", "uint"},
                        {"last_failed_request", failure}};
  const Result result = Memprof({"top", "--json", "train.mprof"}, logs.path());
  ASSERT_EQ(result.status, 0) << result.err;
  Json top = Json::parse(result.out);
  // What is unknown is null.
  const Json no_growth = top["processes"][0]["devices"][1];
  EXPECT_EQ(no_growth["growth_bytes"], 0);
  EXPECT_TRUE(no_growth["steps_to_oom"].is_null());
  top["processes"][0]["devices"].erase(1);
  std::set<std::string> seen;
  ExpectShape(
      top,
      {{"schema", "text"}, {"now_unix_ns", "uint"}, {"processes", {process}}, {"errors", {"text"}}},
      "", &seen);
  EXPECT_TRUE(seen.contains(".processes[].leaks[].site"));
}

TEST(JsonContractTest, Dump) {
  const auto seen = Check({"dump", "--json"}, EventShape());
  for (const char* path : {".name", ".dtype", ".shape[]", ".number", ".result", ".api", ".aux0",
                           ".allocation", ".stack[].line"})
    EXPECT_TRUE(seen.contains(path)) << path << " did not occur";
}

}  // namespace
}  // namespace memprof::cli::testing
