// Function names of C++ and Python, short enough for a table or a box. The functions of one
// argument are pure, and thread-safe.
#pragma once

#include <QString>
#include <span>
#include <vector>

#include "analysis/symbols/symbols.h"

namespace memprof::viewer {

// Without arguments, template arguments, return type and all but the innermost scope: "void
// a::b::Foo<int>::Bar(int)" → "Foo::Bar". Names of other languages stay as they are.
QString ShortFunction(const QString& function);

// "Foo::Bar (file.cc:12)"; the module if the file is not known.
QString ShortSite(const analysis::SourceFrame& frame);
// Only "file.cc:12".
QString ShortPlace(const analysis::SourceFrame& frame);

// "main (train.py:9), in forward (gpt2.py:123)" if a package allocated for the user's line.
QString ShortSite(const analysis::CallSite& site);

// The same for the site of `stack`; "NCCL for Foo::Bar (file.cc:12)" if a library allocated for
// itself, or a framework on its behalf; "(no call stack)".
QString SiteName(analysis::Symbols& symbols, analysis::StackId stack);

// One of several call sites that are displayed together. `key` identifies it, independent of its
// name (function, file, line, and the library that allocated); different keys get different names,
// with arguments where the short names are equal.
struct NamedSite {
  QString key, name;
};
std::vector<NamedSite> NameSites(analysis::Symbols& symbols,
                                 std::span<const analysis::StackId> stacks);

}  // namespace memprof::viewer
