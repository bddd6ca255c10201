// Every key that docs/json.md names, with its type, and no other: of each verb, on a rich log and
// on a poor one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using Json = nlohmann::json;

// What a shape's leaf says of a value. Bytes and ids are "uint", steps and devices "int".
bool IsOfType(const Json& value, const std::string& type) {
  if (type == "uint") return value.is_number_unsigned();
  if (type == "int") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "bool") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "text") return value.is_string() && !value.get<std::string>().empty();
  if (type == "hex") {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    return text.starts_with("0x") &&
           text.find_first_not_of("0123456789abcdef", 2) == std::string::npos;
  }
  if (type == "counts") {  // an object from layers to counts
    for (const auto& [key, count] : value.items())
      if (!count.is_number_unsigned()) return false;
    return value.is_object();
  }
  ADD_FAILURE() << "no such type: " << type;
  return false;
}

// `shape` is an object of keys (a key that ends in '?' may be absent), an array of one element that
// all have, or a leaf. `seen` gets the paths of the elements and optional keys that occurred.
void ExpectShape(const Json& value, const Json& shape, const std::string& path,
                 std::set<std::string>* seen) {
  seen->insert(path);
  if (shape.is_string()) {
    EXPECT_TRUE(IsOfType(value, shape)) << path << " is no " << shape << ": " << value;
  } else if (shape.is_array()) {
    ASSERT_TRUE(value.is_array()) << path;
    for (const Json& element : value) ExpectShape(element, shape[0], path + "[]", seen);
  } else {
    ASSERT_TRUE(value.is_object()) << path;
    for (auto [key, part] : shape.items()) {
      const bool optional = key.ends_with('?');
      const std::string name = optional ? key.substr(0, key.size() - 1) : key;
      EXPECT_TRUE(optional || value.contains(name)) << path << "." << name << " is missing";
      if (value.contains(name)) ExpectShape(value[name], part, path + "." + name, seen);
    }
    for (const auto& [key, part] : value.items())
      EXPECT_TRUE(shape.contains(key) || shape.contains(key + "?"))
          << path << "." << key << " is not documented";
  }
}

Json Frame() {
  return {{"function", "text"},
          {"file", "string"},
          {"line", "int"},
          {"module", "string"},
          {"inlined?", "bool"}};
}

Json MarkShape() {
  return {{"op", "text"},    {"time_ns", "uint"}, {"address", "hex"},
          {"bytes", "uint"}, {"device?", "int"},  {"advice?", "uint"}};
}

Json AllocationShape() {
  return {{"address", "hex"},    {"bytes", "uint"},         {"layer", "text"},
          {"birth_step", "int"}, {"birth_time_ns", "uint"}, {"name?", "string"},
          {"dtype?", "string"},  {"shape?", {"uint"}},      {"marks?", {MarkShape()}}};
}

Json With(Json shape, const Json& more) {
  shape.update(more);
  return shape;
}

Json Leak() {
  return {{"tier", "text"},
          {"score", "number"},
          {"bytes", "uint"},
          {"blocks", "uint"},
          {"bytes_per_step", "number"},
          {"first_step", "int"},
          {"device", "int"},
          {"layer", "text"},
          {"stack", {Frame()}},
          {"site", "text"},
          {"site_frame?", Frame()},
          {"why", "string"},
          {"disproof", "string"},
          {"basis", "string"},
          {"bytes_per_second", "number"},
          {"process", "int"},
          {"steps_to_oom", "number"},
          {"guard_steps", "int"},
          {"steps_needed?", "int"},
          {"import?", "text"},
          {"survivors", {{{"step", "int"}, {"bytes", "uint"}, {"blocks", "uint"}}}},
          {"example?", AllocationShape()}};
}

Json CategoryShape() {
  return {{"category", "text"}, {"bytes", "uint"}, {"blocks", "uint"}, {"confidence", "number"}};
}

Json LibraryShape() {
  return {{"library", "string"},
          {"role", "text"},
          {"of", "text"},
          {"bytes", "uint"},
          {"blocks", "uint"}};
}

Json ProcessesShape() {
  const Json spread = {{"mean_bytes", "number"}, {"median_bytes", "number"},
                       {"least_bytes", "uint"},  {"most_bytes", "uint"},
                       {"imbalance", "number"},  {"outliers", {"uint"}}};
  Json process = {{"rank", "int"}, {"pid", "uint"}, {"devices", {"uint"}}};
  for (const char* figure :
       {"driver_peak_bytes", "driver_peak_time_ns", "in_use_peak_bytes", "reserved_peak_bytes",
        "driver_end_bytes", "in_use_end_bytes", "host_peak_bytes", "imported_peak_bytes",
        "leaked_bytes", "events", "allocations"})
    process[figure] = "uint";
  return {{"list", {process}},
          {"driver_peak", spread},
          {"in_use_peak", spread},
          {"driver_end", spread}};
}

Json PeakShape() {
  const Json piece = With(AllocationShape(), {{"site", "text"}});
  return {
      {"device", "int"},
      {"bytes", "uint"},
      {"time_ns", "uint"},
      {"step", "int"},
      {"by_layer", "counts"},
      {"sites", {{{"bytes", "uint"}, {"blocks", "uint"}, {"site", "text"}, {"stack", {Frame()}}}}},
      {"sites_total", "uint"},
      {"tensors", {piece}},
      {"tensors_total", "uint"},
      {"blocks", {piece}},
      {"blocks_total", "uint"},
      {"by_category", {CategoryShape()}},
      {"by_library", {LibraryShape()}}};
}

// What `memprof peak` says beyond that: the peak without each part.
Json PeakWithSavingsShape() {
  const Json instant = {{"time_ns", "uint"}, {"step", "int"}};
  const Json without = With(instant, {{"peak_bytes", "uint"}, {"saves_bytes", "uint"}});
  Json shape = PeakShape();
  for (const char* list : {"sites", "tensors", "blocks"}) shape[list][0]["without"] = without;
  shape["by_library"][0]["without"] = without;
  shape["by_category"][0]["without?"] = without;  // of what allocations are in
  shape["by_module?"] = {
      {{"bytes", "uint"}, {"blocks", "uint"}, {"module", "text"}, {"without", without}}};
  shape["block_sites"] = {shape["sites"][0]};
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

Json Fragmentation() {
  const Json pin = With(AllocationShape(), {{"frees_bytes", "uint"},
                                            {"blame", "number"},
                                            {"empties_segment", "bool"},
                                            {"unused_since_ns", "uint"},
                                            {"tensor?", "string"},
                                            {"site", "text"},
                                            {"stack", {Frame()}}});
  const Json pool = {{"device", "int"},
                     {"stream", "hex"},
                     {"private_pool", "hex"},
                     {"small_blocks", "bool"},
                     {"segments", "uint"},
                     {"blocks", "uint"},
                     {"reserved_bytes", "uint"},
                     {"allocated_bytes", "uint"},
                     {"free_bytes", "uint"},
                     {"largest_hole_bytes", "uint"},
                     {"rounding_bytes", "uint"},
                     {"releasable_bytes", "uint"},
                     {"unusable_bytes", "uint"},
                     {"external", "number"},
                     {"sum_of_squares", "number"},
                     {"request_relative", "number"},
                     {"pinned_bytes", "uint"},
                     {"hole_count", "uint"},
                     {"holes",
                      {{{"address", "hex"},
                        {"bytes", "uint"},
                        {"since_time_ns", "uint"},
                        {"since_step", "int"},
                        {"before?", "hex"},
                        {"after?", "hex"}}}},
                     {"pins", {pin}}};
  return {{"time_ns", "uint"},          {"step", "int"},
          {"utilisation", "number"},    {"at_peak", "number"},
          {"pools_left_out", "number"}, {"pools", {pool}}};
}

Json Common() {
  return {{"schema", "text"}, {"log", "text"}, {"complete", "bool"}, {"simulated", "bool"}};
}

Json RunShape() {
  return {{"executable", "string"},
          {"arguments", {"string"}},
          {"working_directory", "string"},
          {"environment", {"string"}},
          {"hostname", "string"},
          {"pid", "uint"},
          {"start_time_ns", "uint"},
          {"end_time_ns", "uint"},
          {"start_unix_ns", "uint"},
          {"end_reason", "string"},
          {"growing", "bool"},
          {"recorder_version", "string"},
          {"processes",
           {{{"log", "text"},
             {"pid", "uint"},
             {"hostname", "string"},
             {"complete", "bool"},
             {"clock_shift_ns", "uint"},
             {"run", "uint"},
             {"rank?", "int"}}}}};
}

Json LedgerShape() {
  const Json entry = {{"time_ns", "uint"},         {"step", "int"},
                      {"total_bytes", "uint"},     {"free_bytes", "uint"},
                      {"used_bytes", "uint"},      {"by_layer", "counts"},
                      {"pools_bytes", "uint"},     {"other_processes_bytes?", "uint"},
                      {"untracked_bytes", "uint"}, {"elsewhere_bytes", "uint"}};
  return {{"samples", "uint"},
          {"last?", entry},
          {"highest?", entry},
          {"highest_time_ns?", "uint"},
          {"highest_sample_time_ns?", "uint"}};
}

Json StepOrigin() {
  return {
      {"source", "text"}, {"confidence", "number"}, {"warm_up_steps", "uint"}, {"why", "string"}};
}

Json ReportShape() {
  const Json figures = {{"peak_bytes", "uint"},
                        {"live_bytes", "uint"},
                        {"live_blocks", "uint"},
                        {"reserved_bytes", "uint"}};
  const Json device =
      With(figures, {{"id", "uint"},
                     {"name", "string"},
                     {"device_peak_bytes", "uint"},
                     {"capacity_bytes", "uint"},
                     {"untracked_bytes", "uint"},
                     {"simulated", "bool"},
                     {"ledger", LedgerShape()},
                     {"framework?", With(figures, {{"peak_reserved_bytes", "uint"}})}});
  return With(Common(),
              {{"run", RunShape()},
               {"sources", {"text"}},
               {"source_states", {{{"name", "text"}, {"state", "text"}, {"detail", "string"}}}},
               {"events",
                {{"total", "uint"},
                 {"allocations", "uint"},
                 {"frees", "uint"},
                 {"failed", "uint"},
                 {"lost", "uint"},
                 {"unmatched_frees", "uint"},
                 {"allocations_by_layer", "counts"},
                 {"frees_by_layer", "counts"}}},
               {"devices", {device}},
               {"processes", ProcessesShape()},
               {"host",
                {{"pinned_peak_bytes", "uint"},
                 {"pinned_live_bytes", "uint"},
                 {"registered_peak_bytes", "uint"},
                 {"registered_live_bytes", "uint"}}},
               {"steps", "uint"},
               {"step_origin", StepOrigin()},
               {"peaks", {PeakShape()}},
               {"leak_verdict", "text"},
               {"horizon_too_short", "bool"},
               {"leaks", {Leak()}},
               {"live_at_exit", {Leak()}},
               {"fragmentation", Fragmentation()},
               {"anomalies",
                {{{"name", "text"}, {"count", "uint"}, {"severity", "text"}, {"advice", "text"}}}},
               {"self",
                {{"events", "uint"},
                 {"events_written", "uint"},
                 {"bytes_written", "uint"},
                 {"hook_time_ns", "uint"},
                 {"hook_ns_per_event", "number"},
                 {"events_lost", "uint"},
                 {"definitions_lost", "uint"},
                 {"writer_cpu_ns", "uint"},
                 {"resident_bytes", "uint"},
                 {"stacks", "uint"}}}});
}

Json EventShape() {
  return {{"seq", "uint"},      {"time_ns", "uint"},  {"thread", "uint"}, {"step", "int"},
          {"op", "text"},       {"layer", "text"},    {"device", "int"},  {"address", "hex"},
          {"bytes", "uint"},    {"stack", {Frame()}}, {"name?", "text"},  {"dtype?", "string"},
          {"shape?", {"uint"}}, {"number?", "uint"},  {"stream?", "hex"}, {"result?", "uint"},
          {"api?", "text"},     {"aux0?", "uint"},    {"aux1?", "uint"},  {"allocation?", "uint"}};
}

// The paths that occurred in the answers of `arguments` on all logs.
std::set<std::string> Check(std::vector<std::string> arguments, const Json& shape) {
  const Logs logs;
  std::set<std::string> seen;
  for (const std::string log : {"train.mprof", "raw.mprof", "shared.mprof"}) {
    SCOPED_TRACE(arguments[0] + " " + log);
    arguments.push_back(log);
    const Result result = Memprof(arguments, logs.path());
    arguments.pop_back();
    EXPECT_EQ(result.status, 0) << result.err;
    const bool lines = arguments[0] == "dump";
    for (std::size_t at = 0; at < result.out.size();) {
      const std::size_t end = lines ? result.out.find('\n', at) : result.out.size();
      const Json json = Json::parse(result.out.substr(at, end - at), nullptr, false);
      EXPECT_FALSE(json.is_discarded());
      if (json.is_discarded()) break;
      ExpectShape(json, shape, "", &seen);
      at = end + 1;
    }
  }
  return seen;
}

TEST(JsonContractTest, Report) {
  const auto seen = Check({"report", "--json"}, ReportShape());
  for (const char* path :
       {".devices[].framework", ".leaks[].site_frame", ".leaks[].example.address",
        ".leaks[].survivors[].step", ".live_at_exit[].tier", ".peaks[].tensors[].shape",
        ".fragmentation.pools[].pins[].stack[]", ".devices[].ledger.highest.by_layer",
        ".devices[].ledger.last.other_processes_bytes", ".live_at_exit[].import",
        ".live_at_exit[].example.marks[].advice", ".live_at_exit[].example.marks[].device",
        ".anomalies[].advice", ".source_states[].detail", ".run.arguments[]"})
    EXPECT_TRUE(seen.contains(path)) << path << " did not occur";
}

TEST(JsonContractTest, Leaks) {
  const auto seen = Check({"leaks", "--json"}, With(Common(), {{"verdict", "text"},
                                                               {"horizon_too_short", "bool"},
                                                               {"steps", "uint"},
                                                               {"step_origin", StepOrigin()},
                                                               {"basis", "text"},
                                                               {"rising", {Leak()}},
                                                               {"warmup_steps", "int"},
                                                               {"leaks", {Leak()}},
                                                               {"live_at_exit", {Leak()}}}));
  EXPECT_TRUE(seen.contains(".leaks[]"));
  EXPECT_TRUE(seen.contains(".live_at_exit[]"));
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

// An instant that is no peak has no savings.
TEST(JsonContractTest, PeakOfAStep) {
  const Logs logs;
  const Result result = Memprof({"peak", "--json", "--step=3", "train.mprof"}, logs.path());
  ASSERT_EQ(result.status, 0) << result.err;
  std::set<std::string> seen;
  ExpectShape(Json::parse(result.out),
              With(Common(), {{"start_time_ns", "uint"}, {"peaks", {PeakShape()}}}), "", &seen);
  EXPECT_TRUE(seen.contains(".peaks[].sites[]"));
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

TEST(JsonContractTest, Dump) {
  const auto seen = Check({"dump", "--json"}, EventShape());
  for (const char* path : {".name", ".dtype", ".shape[]", ".number", ".result", ".api", ".aux0",
                           ".allocation", ".stack[].line"})
    EXPECT_TRUE(seen.contains(path)) << path << " did not occur";
}

}  // namespace
}  // namespace memprof::cli::testing
