// Budgets as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/budget/budget.h"
#include "analysis/budget/setting.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

struct ShownPool {
  analysis::PoolUsage usage;
  std::optional<analysis::PoolSetting> setting;
};

// What is printed of a device.
struct ShownDevice {
  analysis::DeviceBudget budget;
  std::string name;  // of the device
  std::string when;  // "its highest use", "the end of step 3"
  analysis::MostActivations activations;
  std::vector<ShownPool> pools;
};

std::string BudgetText(const analysis::Session& session, const ShownDevice& device);
Json BudgetJson(const ShownDevice& device);

}  // namespace memprof::cli
