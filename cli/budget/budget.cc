// memprof budget: options, and what is shown of each device.
#include "cli/budget/budget.h"

#include <algorithm>
#include <optional>

#include "analysis/base/status_text.h"
#include "analysis/budget/budget.h"
#include "analysis/symbols/symbols.h"
#include "cli/budget/internal/output.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/instants.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::Session;

// "" for a device that the log does not define.
std::string NameOf(const Session& session, int device) {
  for (const analysis::DeviceInfo& info : session.devices())
    if (info.id == device) return info.name;
  return "";
}

struct BudgetArguments {
  bool json = false;
  std::int64_t device = kAllDevices, margin = 2;
  std::string at = "peak";
};

absl::StatusOr<std::vector<ShownDevice>> Collect(const Session& session, analysis::Symbols& symbols,
                                                 const BudgetArguments& arguments,
                                                 const When& when) {
  std::optional<Instants> instants;
  if (!when.IsPeak()) {
    absl::StatusOr<Instants> found = FindInstants(session, arguments.device, when);
    if (!found.ok()) return found.status();
    instants = *std::move(found);
  }
  analysis::Budgets budgets(session, symbols);
  std::vector<ShownDevice> devices;
  for (const int device : budgets.devices()) {
    if (arguments.device != kAllDevices && arguments.device != device) continue;
    const auto highest = budgets.Of(device);
    std::optional<analysis::TimeNs> time;
    if (instants) {
      const auto of = std::ranges::find(instants->of_devices, device, &analysis::Peak::device);
      if (of == instants->of_devices.end()) continue;
      time = of->time;
    }
    const auto budget = time ? budgets.Of(device, time) : highest;
    if (!highest || !budget) continue;
    ShownDevice shown{*budget,
                      NameOf(session, device),
                      instants ? instants->words : "its highest use",
                      budgets.ActivationsOf(device),
                      {}};
    for (const analysis::PoolUsage* pool : budgets.PoolsOf(device))
      shown.pools.push_back(
          {*pool, analysis::FindSetting(session, *pool, *highest,
                                        static_cast<double>(arguments.margin) / 100)});
    devices.push_back(std::move(shown));
  }
  if (arguments.device != kAllDevices && devices.empty())
    return absl::NotFoundError(
        Cat(session.path(), ": no sample of the free memory of device ", arguments.device));
  return devices;
}

int Print(const Session& session, const std::vector<ShownDevice>& devices, bool json) {
  if (json) {
    Json list = Json::array();
    for (const ShownDevice& device : devices) list.push_back(BudgetJson(device));
    return PrintJson(WithSampling(session, {{"schema", "memprof.budget/1"},
                                            {"log", session.path()},
                                            {"complete", session.run().complete},
                                            {"simulated", Simulated(session)},
                                            {"start_time_ns", StartTime(session)},
                                            {"devices", std::move(list)}}));
  }
  std::string text = RunLines(session);
  if (devices.empty())
    text += "\nNo sample of a device's free memory is in this log: there is no budget.\n";
  for (const ShownDevice& device : devices) text += BudgetText(session, device);
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace

int BudgetVerb(int argc, char** argv) {
  BudgetArguments arguments;
  Options options(
      "budget [OPTION...] LOG...",
      "Shows the memory of each device as a budget that adds up to all of it: weights, KV cache, "
      "activations, CUDA graphs, communication, libraries, context, other processes, and what is "
      "left. For servers whose KV cache has blocks (vLLM, SGLang, or your own engine by "
      "memprof.pool_usage): how many were ever in use, and what that means for "
      "--gpu-memory-utilization or --mem-fraction-static. Record them with 'memprof run --torch'. "
      "Rules and formulas are in docs/budget.md.");
  options.Flag("json", &arguments.json, "Print one JSON object (schema memprof.budget/1).");
  options.Text("at", &arguments.at, "WHEN",
               "peak: when most of the device was in use; end: at the end of the log; step=N: at "
               "the end of step N (default peak); oom: when a request for memory last failed; "
               "snapshot=LABEL: at the program's last snapshot of that name; event=N.");
  options.Integer("device", &arguments.device, "N", "Only this device.");
  options.Integer("margin", &arguments.margin, "PERCENT",
                  "How much of the device a higher setting has to leave free (default 2).");
  options.Example("memprof run --torch -o 'serve.%p.mprof' -- vllm serve MODEL",
                  "Record a server.");
  options.Example("memprof budget serve.*.mprof", "Where its memory is, and the right setting.");
  options.Example("memprof budget --json serve.mprof | jq '.devices[].pools[].setting'",
                  "Only the setting.");
  if (const int status = ParseOrExit(options, "budget", argc, argv); status >= 0) return status;
  const std::optional<When> when = ParseWhen(arguments.at);
  if (!when)
    return UsageError("budget", Cat("--at is 'peak', 'end', 'step=N', 'oom', 'event=N' or "
                                    "'snapshot=LABEL', not '",
                                    arguments.at, "'"));
  if (arguments.margin < 0 || arguments.margin > 100)
    return UsageError("budget", "--margin is 0 to 100");
  if (arguments.device != kAllDevices && arguments.device < 0)
    return UsageError("budget", "--device cannot be negative");
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "budget", &status);
  if (!session) return status;
  analysis::Symbols symbols(session);
  const auto devices = Collect(*session, symbols, arguments, *when);
  if (!devices.ok()) {
    PrintError(analysis::StatusText(devices.status()));
    return kExitFailed;
  }
  return Print(*session, *devices, arguments.json);
}

}  // namespace memprof::cli
