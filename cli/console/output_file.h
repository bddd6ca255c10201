// A file that is written completely or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memprof::cli {

// Prints its own errors, one line each. Not thread-safe.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Without a call of Finish(), removes what was written.
  ~OutputFile();

  // "-" is standard output. An existing file is an error; with `force` it stays as it is until
  // Finish() replaces it. `inputs`, from which the output is made, are never replaced.
  bool Open(const std::string& path, bool force, const std::vector<std::string>& inputs);
  bool Write(std::string_view text);
  bool Finish();
  // path(): as given, for messages. The other: the file that is written until Finish(), for
  // libraries that write it themselves; it has no meaning for standard output.
  const std::string& path() const { return path_; }
  const std::string& writing() const { return written_; }

 private:
  bool Fail(std::string_view why);

  std::string path_;     // as given, for messages
  std::string target_;   // final path of the complete file; empty = already there
  std::string written_;  // the file being written; empty = nothing to remove
  int file_ = -1;
};

}  // namespace memprof::cli
