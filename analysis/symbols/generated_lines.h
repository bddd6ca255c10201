// The user's lines that the code of torch.compile came from.
//
// TorchInductor writes a Python file for each graph, and knows for parts of it the stack of the
// user's code at which the graph was traced. `memprof run` keeps these in the log, among the
// sources (analysis/source/generated_code.h), as a text of this form for each generated file:
//
//   898
//     File "/home/me/train.py", line 32, in Model.forward
//     File "/home/me/train.py", line 17, in Block.forward
//   912
//     …
//
// From line 898 to 911 the file does what line 17 says, which line 32 called.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/log/sources.h"
#include "analysis/symbols/call_site.h"

namespace memprof::analysis {

// Whether a file has a name as TorchInductor gives: FOLDER/ab/cab….py, where "cab…" is a hash of 52
// letters and digits (torch._inductor.codecache, code_hash and get_path).
bool IsGeneratedFile(std::string_view file);

// The frame of `File "/home/me/train.py", line 32, in forward`, as Python's traceback module has
// it; none if it is something else.
std::optional<SourceFrame> FrameOfTraceback(std::string_view text);

// The name that the lines of a generated file have among the sources of a log.
std::string LinesName(std::string_view file);

// Immutable, hence thread-safe. `sources` may come from elsewhere: what has not the form above is
// left out.
class GeneratedLines {
 public:
  explicit GeneratedLines(const KeptSources& sources);

  // Of a line of a generated file, innermost first; empty if it is not known.
  std::vector<SourceFrame> OriginOf(std::string_view file, int line) const;

 private:
  struct Part {
    int begin = 0;
    std::vector<SourceFrame> frames;
  };
  std::map<std::string, std::vector<Part>, std::less<>> files_;  // by LinesName()
};

}  // namespace memprof::analysis
