// Budgets as text.
#include <algorithm>
#include <cstdio>
#include <string>

#include "analysis/base/units.h"
#include "analysis/store/private_pools.h"
#include "cli/budget/internal/output.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::BlocksInUse;
using analysis::DeviceBudget;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::PoolSetting;
using analysis::PoolUsage;
using analysis::Purpose;

constexpr double kBar = 30;  // columns of the whole device
constexpr std::size_t kGraphPools = 5;

class BudgetRows {
 public:
  explicit BudgetRows(std::uint64_t total) : total_(static_cast<double>(total)) {
    table_.Header({"bytes", "share", "", ""});
  }
  void Add(std::string_view name, std::uint64_t bytes, bool always = false) {
    if (bytes == 0 && !always) return;
    const double share = total_ > 0 ? std::min(1.0, static_cast<double>(bytes) / total_) : 0;
    std::string bar;
    for (double column = 0.5; column < share * kBar; ++column) bar += "█";
    table_.Row({FormatBytes(bytes), Percent(static_cast<double>(bytes), total_), std::string(name),
                std::move(bar)});
  }
  void Minus(std::string_view name, std::uint64_t bytes) {
    if (bytes > 0) table_.Row({Cat("-", FormatBytes(bytes)), "", std::string(name), ""});
  }
  void Total(std::uint64_t bytes) { table_.Row({FormatBytes(bytes), "", "the device", ""}); }
  std::string Text() const { return table_.Text(kWidth); }

 private:
  double total_;
  Table table_{{Align::kRight, Align::kRight, Align::kLeft, Align::kLeft}};
};

std::string TableText(const DeviceBudget& budget) {
  BudgetRows rows(budget.total_bytes);
  const auto add = [&](Purpose purpose) {
    rows.Add(PurposeName(purpose), budget.by_purpose[static_cast<std::size_t>(purpose)]);
  };
  for (const Purpose purpose : {Purpose::kWeights, Purpose::kGradients, Purpose::kOptimizerState,
                                Purpose::kKvCache, Purpose::kActivations, Purpose::kInputs})
    add(purpose);
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < budget.graphs.size(); ++i) {
    const analysis::GraphPool& graph = budget.graphs[i];
    if (i >= kGraphPools)
      rest += graph.bytes;
    else
      rows.Add(graph.pool == 0 ? "CUDA graphs: the driver's pool"
                               : Cat("CUDA graphs: ", analysis::PrivatePoolName(graph.pool)),
               graph.bytes);
  }
  rows.Add("CUDA graphs: other pools", rest);
  for (const Purpose purpose : {Purpose::kCommunication, Purpose::kWorkspaces, Purpose::kOther})
    add(purpose);
  rows.Add("cached by the allocator, in no block", budget.cached_bytes);
  rows.Add("held by the driver's pools", budget.driver_pools_bytes);
  rows.Add("code", budget.code_bytes);
  rows.Add("context", budget.context_bytes);
  rows.Add("other processes", budget.others_bytes);
  rows.Add("unexplained", budget.unexplained_bytes, true);
  rows.Minus("of these, not on the device", budget.elsewhere_bytes);
  rows.Add("free", budget.free_bytes, true);
  rows.Total(budget.total_bytes);
  return rows.Text();
}

std::string Value(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string UsageText(const analysis::Session& session, const PoolUsage& pool,
                      std::uint64_t block_bytes, analysis::TimeNs time) {
  std::string words =
      Cat(CutEnd(Printable(pool.name), 60), ": ", FormatNumberOf(pool.blocks, "block"));
  if (block_bytes > 0) Append(words, " of ", FormatBytes(block_bytes));
  if (pool.block_slots > 0) Append(words, ", ", FormatNumberOf(pool.block_slots, "slot"), " each");
  Append(words, ". In use at most ", FormatCount(pool.most.blocks), " (",
         Percent(pool.most.blocks, pool.blocks), "), after ", Since(session, pool.most.time));
  if (block_bytes > 0)
    Append(words, ": ", FormatBytes(std::uint64_t{pool.most.blocks} * block_bytes));
  Append(words, "; at this instant ", FormatCount(pool.At(time).blocks), ".");
  const BlocksInUse& slots = pool.most_slots;
  if (slots.slots > 0 && pool.block_slots > 0)
    Append(words, " When most slots were taken, after ", Since(session, slots.time), ", they were ",
           Percent(slots.slots, static_cast<double>(slots.blocks) * pool.block_slots),
           " of those of ", FormatNumberOf(slots.blocks, "block"), " in use.");
  return Paragraph(words);
}

std::string SettingText(const PoolUsage& pool, const PoolSetting& setting) {
  std::string words =
      Cat(setting.option, " ", setting.measured ? "was about " : "is ", Value(setting.now),
          setting.measured ? " (what was in use; the program did not say it). " : ". ");
  if (setting.needed.value < setting.now)
    Append(words, "With ", Value(setting.needed.value),
           " the same traffic fits: ", FormatNumberOf(setting.needed.blocks, "block"), ".");
  else
    Append(words, "The traffic needed it all.");
  if (setting.possible)
    Append(words, " ", Value(setting.possible->value), " would give ",
           FormatNumberOf(setting.possible->blocks - pool.blocks, "more block", "more blocks"),
           ", and leave at least ", FormatBytes(setting.margin_bytes), " free.");
  else
    Append(words, " No higher value fits, with ", FormatBytes(setting.margin_bytes), " left free.");
  return Paragraph(words);
}

}  // namespace

std::string BudgetText(const analysis::Session& session, const ShownDevice& device) {
  const DeviceBudget& budget = device.budget;
  const analysis::TimeNs time = budget.ledger.sample.time;
  std::string text =
      Heading(Cat("Budget of device ", budget.device, " at ", device.when, ", after ",
                  Since(session, time), StepLabel(session, budget.ledger.step)));
  Append(text, TableText(budget));
  if (device.activations.bytes > 0)
    Append(text, Paragraph(Cat("Activations took at most ", FormatBytes(device.activations.bytes),
                               ", after ", Since(session, device.activations.time), ".")));
  if (device.pools.empty() && budget.kv_cache_bytes() > 0)
    Append(text, "\n",
           Paragraph("No program said how many blocks of its KV cache are in use: memprof run "
                     "--torch records it for vLLM and SGLang."));
  for (const ShownPool& pool : device.pools) {
    const std::uint64_t bytes = pool.usage.bytes != 0 ? pool.usage.bytes : budget.kv_cache_bytes();
    Append(text, "\n",
           UsageText(session, pool.usage, pool.usage.blocks == 0 ? 0 : bytes / pool.usage.blocks,
                     time));
    if (pool.setting) Append(text, SettingText(pool.usage, *pool.setting));
  }
  return text;
}

}  // namespace memprof::cli
