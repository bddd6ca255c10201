// How far a log can be trusted, finding by finding: what was lost or odd, which sources were on,
// whether the log is whole, what recording cost, clocks, symbols, steps, devices. Pure.
#pragma once

#include <QString>
#include <vector>

#include "viewer/models/document.h"

namespace memprof::viewer {

// As log::Severity, and better than all of them: all is well.
enum class Grade { kGood, kInfo, kNotice, kDataLoss, kError };
// "good", "info", "notice", "data loss", "error"; with a mark before it, which tells it without
// colours.
QString GradeName(Grade grade);
QString GradeLabel(Grade grade);

struct QualityRow {
  QString area;     // "Anomalies", "Sources", …
  QString subject;  // what is judged
  Grade grade = Grade::kGood;
  QString finding;
  QString advice;  // what it means and what to do; may be empty
};

// `report` may be null: what only it knows (frames without a name, memory that nobody can explain)
// is then left out. Rows of an area follow each other; anomalies come worst first.
std::vector<QualityRow> FindQuality(const analysis::Session& session, const ReportData* report);

struct QualityVerdict {
  Grade worst = Grade::kGood;
  QString text;  // a sentence
};
QualityVerdict JudgeQuality(const std::vector<QualityRow>& rows);

}  // namespace memprof::viewer
