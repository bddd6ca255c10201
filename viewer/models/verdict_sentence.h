// Sentences of parts, for those who make verdicts.
#pragma once

#include <QObject>
#include <QString>
#include <utility>
#include <vector>

#include "analysis/oom/oom.h"
#include "viewer/models/process_model.h"
#include "viewer/models/verdict.h"

namespace memprof::viewer {

// The parts of a sentence, one after the other.
class Sentence {
 public:
  Sentence& Say(const QString& text) {
    if (!text.isEmpty()) parts_.push_back({text, {}, {}, false, group_});
    return *this;
  }
  Sentence& Link(const QString& text, VerdictTarget target, const QString& help) {
    parts_.push_back({text, std::move(target), help, false, group_});
    return *this;
  }
  // A call site.
  Sentence& Name(const QString& name, VerdictTarget target) {
    const bool known = target.site.valid();
    parts_.push_back({name, {}, QObject::tr("Select this call site: %1").arg(name), true, group_});
    if (known) parts_.back().target = std::move(target);
    return *this;
  }
  // What follows is left out where there is no space, the last first.
  Sentence& Optional() {
    ++group_;
    return *this;
  }
  Sentence& Always() {
    group_ = 0;
    return *this;
  }
  std::vector<VerdictPart> Take() { return std::move(parts_); }

 private:
  std::vector<VerdictPart> parts_;
  int group_ = 0;
};

inline VerdictTarget ToSite(analysis::StackId site, int device) {
  VerdictTarget target;
  target.site = site;
  if (device != analysis::kNoDevice) target.device = device;
  return target;
}

inline VerdictTarget InView(VerdictView view, VerdictTarget target) {
  target.view = view;
  return target;
}

// "details", the way to the whole story.
inline void SayShow(Sentence& sentence, VerdictTarget target, const QString& help) {
  sentence.Always().Say(QStringLiteral("  ")).Link(QObject::tr("details"), std::move(target), help);
}

// " in rank 5" (`before` is " in "), if there are several processes.
inline QString OfProcess(const analysis::Session& session, std::uint32_t process,
                         const QString& before) {
  if (session.processes().size() < 2) return {};
  return before + ProcessName(session, process);
}

// The request that matters most: the last that never succeeded, else the last. Not for none.
const analysis::FailedRequest& WorstOf(const std::vector<analysis::FailedRequest>& failures);

// Begins with what failed: "Out of memory at step 15: ". `detail` becomes the whole explanation.
void SayFailure(Sentence& sentence, const VerdictInput& input,
                const std::vector<analysis::FailedRequest>& failures, QString* detail);

// "; 2 suspected leaks", where there is space.
void SayLeakCount(Sentence& sentence, const VerdictInput& input);

// The highest peak of all devices, and what most of it was.
void SayPeak(Sentence& sentence, const VerdictInput& input);

}  // namespace memprof::viewer
