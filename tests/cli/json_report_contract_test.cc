// Exactly the keys that docs/json.md names for a report and for leaks, with their types.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/json_shapes.h"

namespace memprof::cli::testing {
namespace {

Json Leak() {
  const Json holders = {{{"path", "text"},
                         {"root", "text"},
                         {"chain", {"text"}},
                         {"kind", "text"},
                         {"bytes", "uint"},
                         {"blocks", "uint"}}};
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
          {"holders?", holders},
          {"without_holder?", {{"bytes", "uint"}, {"blocks", "uint"}}},
          {"exported?",
           {{"blocks", "uint"},
            {"opened_by", {{{"process", "uint"}, {"closed", "bool"}}}},
            {"holders", holders}}},
          {"import?", "text"},
          {"survivors", {{{"step", "int"}, {"bytes", "uint"}, {"blocks", "uint"}}}},
          {"example?", AllocationShape()}};
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
  const Json entry = {{"time_ns", "uint"},          {"step", "int"},
                      {"total_bytes", "uint"},      {"free_bytes", "uint"},
                      {"used_bytes", "uint"},       {"by_layer", "counts"},
                      {"pools_bytes", "uint"},      {"other_processes_bytes?", "uint"},
                      {"untracked_bytes", "uint"},  {"elsewhere_bytes", "uint"},
                      {"file_cache_bytes?", "uint"}};
  return {{"samples", "uint"},
          {"last?", entry},
          {"highest?", entry},
          {"highest_time_ns?", "uint"},
          {"highest_sample_time_ns?", "uint"}};
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
                     {"uses_system_memory", "bool"},
                     {"ledger", LedgerShape()},
                     {"estimates?",
                      {{"parts", {{{"kind", "text"}, {"bytes", "uint"}, {"error_bytes?", "uint"}}}},
                       {"peak_bytes", "uint"},
                       {"peak_error_bytes", "uint"},
                       {"capacity_bytes", "uint"},
                       {"fit", "text"}}},
                     {"framework?", With(figures, {{"peak_reserved_bytes", "uint"}})}});
  return With(Common(),
              {{"run", RunShape()},
               {"attached", "bool"},
               {"before_attach_bytes", "uint"},
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
               {"allocator_settings",
                {{{"processes", {"uint"}},
                  {"release", "string"},
                  {"variable", "string"},
                  {"settings",
                   {{{"variable", "text"},
                     {"key", "string"},
                     {"value", "string"},
                     {"state", "text"},
                     {"why", "string"}}}},
                  {"left_out", "uint"}}}},
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
  const auto seen =
      Check({"leaks", "--json"},
            With(Common(), {{"verdict", "text"},
                            {"horizon_too_short", "bool"},
                            {"steps", "uint"},
                            {"step_origin", StepOrigin()},
                            {"basis", "text"},
                            {"rising", {Leak()}},
                            {"warmup_steps", "int"},
                            {"leaks", {Leak()}},
                            {"live_at_exit", {Leak()}},
                            {"kept_by_pools", {{{"device", "int"}, {"bytes", "uint"}}}},
                            {"link?", "text"}}));
  EXPECT_TRUE(seen.contains(".leaks[]"));
  EXPECT_TRUE(seen.contains(".leaks[].holders[]"));
  EXPECT_TRUE(seen.contains(".link"));
  EXPECT_TRUE(seen.contains(".live_at_exit[]"));
}

}  // namespace
}  // namespace memprof::cli::testing
