// A file that is written whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memprof::cli {

// Prints its errors itself, one line each. Not thread-safe.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Without Finish() before, what was written is taken back.
  ~OutputFile();

  // "-" is standard output. An existing file is an error, or with `force` stays as it is until
  // Finish() puts the new one in its place; `inputs`, which the output is made from, stay always.
  bool Open(const std::string& path, bool force, const std::vector<std::string>& inputs);
  bool Write(std::string_view text);
  bool Finish();
  // As given, for messages; and the file that is written until Finish(), for libraries
  // that write it themselves. It has no meaning for standard output.
  const std::string& path() const { return path_; }
  const std::string& writing() const { return written_; }

 private:
  bool Fail(std::string_view why);

  std::string path_;     // as given, for messages
  std::string target_;   // where the whole file goes at the end; empty = it is there already
  std::string written_;  // what is being written; empty = nothing to take back
  int file_ = -1;
};

}  // namespace memprof::cli
