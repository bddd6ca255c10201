// Changes of a training among the remedies of a failed request.
#include <gtest/gtest.h>

#include "analysis/oom/internal/scene_parts.h"
#include "analysis/oom/words.h"

namespace memprof::analysis::oom {
namespace {

PeakRemedy Change(const char* name, int device, bool ends_failures) {
  PeakRemedy remedy;
  remedy.device = device;
  remedy.saving.saves_bytes = 4096;
  remedy.ends_failures = ends_failures;
  remedy.name = name;
  return remedy;
}

TEST(OomTraining, OnlyThoseThatSufficeAndBeforeDrasticOnes) {
  PeakRemedies training;
  training.remedies = {Change("checkpointing of Block", 0, true), Change("too little", 0, false),
                       Change("elsewhere", 1, true)};
  FailureReport report;
  report.request.device = 0;
  report.remedies = {{.kind = RemedyKind::kSites, .fits = true},
                     {.kind = RemedyKind::kLargerDevice, .fits = true},
                     {.kind = RemedyKind::kPacked, .fits = false}};
  AddTraining(training, &report);
  ASSERT_EQ(report.remedies.size(), 4u);
  const Remedy& added = report.remedies[1];
  EXPECT_EQ(added.kind, RemedyKind::kTraining);
  EXPECT_TRUE(added.fits);
  EXPECT_EQ(added.bytes, 4096u);
  EXPECT_EQ(added.change, "checkpointing of Block");
  EXPECT_EQ(RemedyKindName(added.kind), "training");
  EXPECT_EQ(RemedyKindName(RemedyKind::kLargerDevice), "larger_device");
}

TEST(OomTraining, NothingToAdd) {
  FailureReport report;
  AddTraining({}, &report);
  EXPECT_TRUE(report.remedies.empty());
}

}  // namespace
}  // namespace memprof::analysis::oom
