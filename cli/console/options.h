// Command-line options: a table that is parsed, checked and printed as help. Long options with
// --name=value or --name value, a few one-letter ones (-o FILE), and -- to end them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace memprof::cli {

// The options of one verb. Values are written through the given pointers; not thread-safe.
class Options {
 public:
  // `usage` is what follows "memprof ", e.g. "leaks [OPTION…] LOG"; `description` is a paragraph.
  Options(std::string usage, std::string description);

  void Flag(std::string_view name, bool* value, std::string_view help);
  void Text(std::string_view name, std::string* value, std::string_view metavar,
            std::string_view help, char letter = 0);
  void Integer(std::string_view name, std::int64_t* value, std::string_view metavar,
               std::string_view help);
  // One of `choices`.
  void Choice(std::string_view name, std::string* value, std::vector<std::string> choices,
              std::string_view help);
  // As Text, any number of times.
  void List(std::string_view name, std::vector<std::string>* value, std::string_view metavar,
            std::string_view help);
  // A command and what it does, for the help's last section.
  void Example(std::string_view command, std::string_view effect);

  // Parses argv[1…]. Errors (kInvalidArgument) name the option, and the one probably meant.
  absl::Status Parse(int argc, char** argv);

  bool help() const { return help_; }
  const std::vector<std::string>& arguments() const { return arguments_; }
  std::string HelpText() const;

 private:
  enum class Kind { kFlag, kText, kInteger, kChoice, kList };
  struct Option {
    Kind kind;
    std::string name;
    char letter = 0;
    std::string metavar, help;
    bool* flag = nullptr;
    std::string* text = nullptr;
    std::int64_t* integer = nullptr;
    std::vector<std::string>* list = nullptr;
    std::vector<std::string> choices;
  };
  const Option* Find(std::string_view name) const;
  absl::Status Unknown(std::string_view name) const;
  absl::Status Set(const Option& option, std::string_view value) const;

  std::string usage_, description_;
  std::vector<Option> options_;
  std::vector<std::pair<std::string, std::string>> examples_;
  std::vector<std::string> arguments_;
  bool help_ = false;
};

// The candidate nearest to `word` by edit distance, if it is near enough to be a typing error: at
// most 2 edits, and fewer than half of the word's letters.
std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace memprof::cli
