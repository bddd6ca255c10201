// Function names of C++ and Python, short enough for a table or a box. The functions of one
// argument are pure, and thread-safe.
#pragma once

#include <QString>

#include "analysis/symbols.h"

namespace memprof::viewer {

// Without arguments, template arguments, return type and all but the innermost scope:
// "void a::b::Foo<int>::Bar(int)" → "Foo::Bar". Names that are no C++ come back as they are.
QString ShortFunction(const QString& function);

// "Foo::Bar (file.cc:12)"; the module where no file is known.
QString ShortSite(const analysis::SourceFrame& frame);

// The same of the place where `stack` allocates; "NCCL for Foo::Bar (file.cc:12)" where a library
// asked for itself, or a framework on its behalf; "(no call stack)".
QString SiteName(analysis::Symbols& symbols, analysis::StackId stack);

}  // namespace memprof::viewer
