// Whether the loader can put the recorder into a program, read from the files before anything is
// started: where it cannot, the program dies with a message of the loader's, or runs unrecorded.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

struct Loadable {
  bool starts = true;  // false: with the recorder the program would die at once
  std::string line;    // why, and what to do; "" where there is nothing to say
};

// `arguments` is the program and what follows; `search_path` a PATH. Of a script the interpreters
// count, and of env what it starts. Nothing is said of what cannot be found or read: that is for
// the start to tell.
Loadable CheckLoadable(const std::string& recorder, const std::vector<std::string>& arguments,
                       const std::string& search_path);

}  // namespace memprof::cli
