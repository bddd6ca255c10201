// All checks of a machine, and their results as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/console/json.h"
#include "cli/doctor/internal/rows.h"

namespace memprof::cli::doctor {

// `python` as in FindPython; `program` may be empty.
std::vector<Row> Examine(const Machine& machine, const std::string& python,
                         const std::vector<std::string>& program);

bool CanRecord(const std::vector<Row>& rows);
std::string Text(const std::vector<Row>& rows);
Json ReportJson(const std::vector<Row>& rows);

}  // namespace memprof::cli::doctor
