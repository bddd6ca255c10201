// How far a log can be trusted: what was lost or odd, which sources were on, whether the log is
// complete, what recording cost, clocks, symbols, steps, devices. Pure.
#pragma once

#include <QString>
#include <vector>

#include "viewer/models/document.h"

namespace memprof::viewer {

// As log::Severity, with a better grade for "all is well".
enum class Grade { kGood, kInfo, kNotice, kDataLoss, kError };
// "good", "info", "notice", "data loss", "error"; preceded by a sign, so that it is clear without
// colours.
QString GradeName(Grade grade);
QString GradeLabel(Grade grade);

struct QualityRow {
  QString area;     // "Anomalies", "Sources", …
  QString subject;  // what is graded
  Grade grade = Grade::kGood;
  QString finding;
  QString advice;  // its meaning and what to do; may be empty
};

// `report` may be null: findings that need it (frames without a name, unexplained memory) are then
// left out. Rows of one area are together; anomalies are sorted worst first.
std::vector<QualityRow> FindQuality(const analysis::Session& session, const ReportData* report);

struct QualityVerdict {
  Grade worst = Grade::kGood;
  QString text;  // a sentence
};
QualityVerdict JudgeQuality(const std::vector<QualityRow>& rows);

}  // namespace memprof::viewer
