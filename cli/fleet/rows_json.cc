// Columns and their values.
#include "cli/fleet/internal/rows_json.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>

#include "cli/console/controls.h"
#include "cli/console/json.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using analysis::FleetRows;

// Columns are signed; only a damaged log has more.
Json Whole(std::uint64_t value) {
  return std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max());
}
Json OrNull(const std::optional<std::uint64_t>& value) { return value ? Whole(*value) : Json(); }
Json OrNull(const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(); }
Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json Device(int device) { return device == analysis::kNoDevice ? Json() : Json(device); }

// "job7" of "s3://bucket/job7/rank0.mprof".
std::string FolderOf(const std::string& log) {
  std::error_code error;
  const bool uri = log.find("://") != std::string::npos;
  std::filesystem::path path = log;
  if (!uri) path = std::filesystem::absolute(path, error);
  return path.parent_path().filename().string();
}

Json ToJson(const analysis::RunRow& run, const std::string& log) {
  const analysis::RunIdentity& who = run.identity;
  return {{"log", log},
          {"job", who.job.empty() ? FolderOf(log) : who.job},
          {"attempt", OrNull(who.attempt)},
          {"rank", OrNull(who.rank)},
          {"local_rank", OrNull(who.local_rank)},
          {"world_size", OrNull(who.world_size)},
          {"tensor_rank", OrNull(who.tensor_rank)},
          {"pipeline_rank", OrNull(who.pipeline_rank)},
          {"data_rank", OrNull(who.data_rank)},
          {"expert_rank", OrNull(who.expert_rank)},
          {"host", OrNull(run.host)},
          {"pid", run.pid},
          {"program", OrNull(run.program)},
          {"device", Device(run.device)},
          {"device_name", OrNull(run.device_name)},
          {"device_uuid", OrNull(run.device_uuid)},
          {"device_bytes", OrNull(run.device_bytes)},
          {"simulated", run.simulated},
          {"driver_version", run.driver_version == 0 ? Json() : Json(run.driver_version)},
          {"framework", OrNull(run.framework)},
          {"allocator_settings", OrNull(run.allocator_settings)},
          {"expandable", run.expandable ? Json(*run.expandable) : Json()},
          {"memprof_version", OrNull(run.memprof_version)},
          {"start_unix", Whole(run.start_unix)},
          {"duration", Whole(run.duration)},
          {"ended", run.ended},
          {"steps", Whole(run.steps)},
          {"steps_from", run.steps_from},
          {"events", Whole(run.events)},
          {"events_lost", Whole(run.events_lost)},
          {"losses", OrNull(run.losses)},
          {"recorder_cost", OrNull(run.recorder_cost)},
          {"peak", OrNull(run.peak)},
          {"device_peak", OrNull(run.device_peak)},
          {"allocated_peak", OrNull(run.allocated_peak)},
          {"reserved_peak", OrNull(run.reserved_peak)},
          {"peak_step", OrNull(run.peak_step)},
          {"others_peak", OrNull(run.others_peak)},
          {"unusable_at_peak", OrNull(run.unusable_at_peak)},
          {"failures", Whole(run.failures)},
          {"verdict", OrNull(run.verdict)}};
}

Json ToJson(const analysis::StepRow& row) {
  return {{"device", Device(row.device)},
          {"step", row.step},
          {"began", Whole(row.began)},
          {"duration", OrNull(row.duration)},
          {"peak", Whole(row.peak)},
          {"allocated_peak", OrNull(row.allocated_peak)},
          {"reserved_peak", OrNull(row.reserved_peak)},
          {"allocated_end", OrNull(row.allocated_end)},
          {"reserved_end", OrNull(row.reserved_end)}};
}

Json ToJson(const analysis::SiteStepRow& row) {
  return {{"device", Device(row.device)},
          {"site", row.site},
          {"first_step", OrNull(row.first_step)},
          {"last_step", OrNull(row.last_step)},
          {"born", Whole(row.born)},
          {"born_blocks", Whole(row.born_blocks)},
          {"alive", Whole(row.alive)},
          {"alive_blocks", Whole(row.alive_blocks)},
          {"at_peak", Whole(row.at_peak)}};
}

Json ToJson(const analysis::SiteRow& row) {
  return {{"site", row.site},
          {"key", row.key},
          {"name", row.name},
          {"function", OrNull(row.function)},
          {"file", OrNull(row.file)},
          {"line", row.line == 0 ? Json() : Json(row.line)},
          {"library", OrNull(row.library)}};
}

Json ToJson(const analysis::LedgerRow& row) {
  return {{"device", Device(row.device)},
          {"moment", row.moment},
          {"kind", row.kind},
          {"size", Whole(row.size)}};
}

Json ToJson(const analysis::CategoryRow& row) {
  return {{"device", Device(row.device)},
          {"category", row.category},
          {"size", Whole(row.size)},
          {"blocks", Whole(row.blocks)}};
}

Json ToJson(const analysis::LeakRow& row) {
  return {{"device", Device(row.device)},
          {"site", row.site},
          {"tier", row.tier},
          {"basis", row.basis},
          {"score", row.score},
          {"slope", row.slope},
          {"slope_per_s", row.slope_per_s},
          {"size", Whole(row.size)},
          {"blocks", Whole(row.blocks)},
          {"first_step", OrNull(row.first_step)},
          {"holder", OrNull(row.holder)}};
}

Json ToJson(const analysis::OomRow& row) {
  return {{"device", Device(row.device)},
          {"step", OrNull(row.step)},
          {"occurred", Whole(row.occurred)},
          {"asked", Whole(row.asked)},
          {"free", OrNull(row.free)},
          {"cause", OrNull(row.cause)},
          {"recovered", row.recovered},
          {"site", row.site},
          {"growth_site", OrNull(row.growth_site)},
          {"remedy", OrNull(row.remedy)}};
}

Json ToJson(const analysis::FragmentationRow& row) {
  return {{"device", Device(row.device)},
          {"reserved", Whole(row.reserved)},
          {"allocated", Whole(row.allocated)},
          {"unusable", Whole(row.unusable)},
          {"site", row.site},
          {"pinned", Whole(row.pinned)}};
}

Json ToJson(const analysis::AdviceRow& row) {
  return {{"device", Device(row.device)},
          {"kind", row.kind},
          {"gain", Whole(row.gain)},
          {"site", row.site},
          {"words", row.words}};
}

class Writer {
 public:
  explicit Writer(const std::function<bool(std::string_view)>& write) : write_(write) {}

  void Line(const Json& json) {
    if (!fine_) return;
    fine_ = write_(
        EscapeControls(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n");
  }
  void Row(std::string_view table, Json row) {
    Line({{"table", table}, {"row", std::move(row)}});
    ++rows_;
  }
  template <typename Rows>
  void Table(std::string_view table, const Rows& rows) {
    for (const auto& row : rows) Row(table, ToJson(row));
  }
  std::uint64_t rows() const { return rows_; }
  bool fine() const { return fine_; }

 private:
  const std::function<bool(std::string_view)>& write_;
  std::uint64_t rows_ = 0;
  bool fine_ = true;
};

}  // namespace

bool WriteFleetRows(const FleetRows& rows, const std::string& log,
                    const std::function<bool(std::string_view)>& write) {
  Writer writer(write);
  writer.Line({{"schema", kFleetSchema}, {"run", rows.run_id}});
  writer.Row("runs", ToJson(rows.run, log));
  writer.Table("rank_step", rows.rank_step);
  writer.Table("rank_site_step", rows.rank_site_step);
  writer.Table("sites", rows.sites);
  writer.Table("ledger", rows.ledger);
  writer.Table("categories", rows.categories);
  writer.Table("leaks", rows.leaks);
  writer.Table("ooms", rows.ooms);
  writer.Table("fragmentation", rows.fragmentation);
  writer.Table("advice", rows.advice);
  writer.Line({{"end", true}, {"rows", writer.rows()}});
  return writer.fine();
}

}  // namespace memprof::cli
