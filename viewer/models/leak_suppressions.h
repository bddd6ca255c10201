// Suppressed leaks: which leaks of a report are hidden, and the lines of a file that hides them.
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

// A line for a file of suppressions (analysis/leaks/suppressions.h, docs/leaks.md) that matches the
// leak's site, after a comment that describes it. Empty if no frame of the stack has a name.
QString AsSuppression(const LeakRow& row);

// Decides as `memprof leaks --suppressions`: matches functions in full and short, source files,
// modules.
bool Matches(const analysis::Suppressions& suppressions, const LeakRow& row);

// The hidden leaks, with undo.
class LeakSuppressions {
 public:
  // Hides one leak. Later reports of a log that grows hide the leak of the same site too.
  void Hide(const LeakRow& row);
  // Hides the leaks that a file matches. `name` is for display.
  void Apply(std::shared_ptr<const analysis::Suppressions> file, const QString& name);
  bool Hides(const LeakRow& row) const;
  bool empty() const { return steps_.empty(); }
  // Undoes the last of these.
  void Undo();
  // "Suppressed Foo::Bar (file.cc:12)": what Undo would undo.
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
