// Function names of C++ and Python, short enough for a table or a box. Pure; thread-safe.
#pragma once

#include <QString>

#include "analysis/symbols.h"

namespace memprof::viewer {

// Without arguments, template arguments, return type and all but the innermost scope:
// "void a::b::Foo<int>::Bar(int)" → "Foo::Bar". Names that are no C++ come back as they are.
QString ShortFunction(const QString& function);

// "Foo::Bar (file.cc:12)"; the module where no file is known.
QString ShortSite(const analysis::SourceFrame& frame);

}  // namespace memprof::viewer
