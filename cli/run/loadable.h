// Checks whether the loader can load the recorder into a program, by reading the files before
// anything is started. Where it cannot, the program would end with an error of the loader, or run
// unrecorded.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

struct Loadable {
  bool preloads = true;  // false: with the recorder preloaded, the program would end at once
  std::string why;       // why it is not recorded, without a full stop; "" if it is
  std::string remedy;    // what to do
  bool recorded() const { return why.empty(); }
};

// `arguments` is the program and its arguments; `search_path` a PATH. For a script its interpreters
// are checked, and for env, nice and the like also the program that it starts. Files that cannot be
// found or read are ignored: starting the program reports them.
Loadable CheckLoadable(const std::string& recorder, const std::vector<std::string>& arguments,
                       const std::string& search_path);

}  // namespace memprof::cli
