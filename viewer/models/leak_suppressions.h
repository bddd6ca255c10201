// Leaks that somebody lives with: which of a report are left out, and how to say so in a file.
// Pure.
#pragma once

#include <QString>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "analysis/leaks/suppressions.h"
#include "viewer/models/document.h"

namespace memprof::viewer {

// A line for a file of suppressions (analysis/leaks/suppressions.h, docs/leaks.md) that names the
// leak's site, with a comment above that says what it is. Whoever reads it back leaves the leak
// out. Empty where no frame of the stack has a name.
QString AsSuppression(const LeakRow& row);

// As `memprof leaks --suppressions` decides: functions in full and short, source files, modules.
bool Matches(const analysis::Suppressions& suppressions, const LeakRow& row);

// What is left out, as a value that can be put back.
class LeakSuppressions {
 public:
  // Leaves out one leak. Its site stays known where the report is made anew.
  void Hide(const LeakRow& row);
  // Leaves out what a file names. `name` is for people.
  void Apply(std::shared_ptr<const analysis::Suppressions> file, const QString& name);
  bool Hides(const LeakRow& row) const;
  bool empty() const { return steps_.empty(); }
  // Takes back the last of the above.
  void Undo();
  // "Suppressed Foo::Bar (file.cc:12)", what Undo would take back.
  QString LastText() const;

 private:
  using Key = std::tuple<std::uint32_t, analysis::Layer, int, std::uint32_t>;
  static Key KeyOf(const LeakRow& row);

  struct Step {
    Key leak;
    std::shared_ptr<const analysis::Suppressions> file;  // else one leak
    QString text;
  };
  std::vector<Step> steps_;
};

}  // namespace memprof::viewer
