// Function names of C++ and Python, short enough for a table or a box. The functions of one
// argument are pure, and thread-safe.
#pragma once

#include <QString>
#include <span>
#include <vector>

#include "analysis/symbols/symbols.h"

namespace memprof::viewer {

// Without arguments, template arguments, return type and all but the innermost scope:
// "void a::b::Foo<int>::Bar(int)" → "Foo::Bar". Names that are no C++ come back as they are.
QString ShortFunction(const QString& function);

// "Foo::Bar (file.cc:12)"; the module where no file is known.
QString ShortSite(const analysis::SourceFrame& frame);
// "file.cc:12" alone.
QString ShortPlace(const analysis::SourceFrame& frame);

// "main (train.py:9), in forward (gpt2.py:123)" where a package asked for the user's line.
QString ShortSite(const analysis::CallSite& site);

// The same of the place where `stack` allocates; "NCCL for Foo::Bar (file.cc:12)" where a library
// asked for itself, or a framework on its behalf; "(no call stack)".
QString SiteName(analysis::Symbols& symbols, analysis::StackId stack);

// A call site as one of several that are shown together: `key` says which it is, whatever is shown
// beside it (function, file, line, and the library that asked); different keys have different
// names, with arguments where the short ones are the same.
struct NamedSite {
  QString key, name;
};
std::vector<NamedSite> NameSites(analysis::Symbols& symbols,
                                 std::span<const analysis::StackId> stacks);

}  // namespace memprof::viewer
