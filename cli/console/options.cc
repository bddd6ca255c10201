// Parses options and writes their help from the same table.
#include "cli/console/options.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "cli/console/text.h"

namespace memprof::cli {
namespace {

constexpr std::size_t kHelpColumn = 26;
constexpr std::size_t kHelpWidth = 90;

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j + 1] + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string Join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) Append(text, text.empty() ? "" : separator, word);
  return text;
}

// Wraps text whose first line begins at `column`.
std::string WrapAt(std::size_t column, std::string_view text) {
  return Wrap(Cat(std::string(column, '.'), text), kHelpWidth, column).substr(column);
}

}  // namespace

std::optional<std::string> Nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::min<std::size_t>(2, (word.size() - (word.empty() ? 0 : 1)) / 2);
  for (const std::string& candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance > best_distance || (best && distance == best_distance)) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

Options::Options(std::string usage, std::string description)
    : usage_(std::move(usage)), description_(std::move(description)) {}

void Options::Flag(std::string_view name, bool* value, std::string_view help) {
  options_.push_back({Kind::kFlag, std::string(name), 0, "", std::string(help)});
  options_.back().flag = value;
}

void Options::Text(std::string_view name, std::string* value, std::string_view metavar,
                   std::string_view help, char letter) {
  options_.push_back(
      {Kind::kText, std::string(name), letter, std::string(metavar), std::string(help)});
  options_.back().text = value;
}

void Options::Integer(std::string_view name, std::int64_t* value, std::string_view metavar,
                      std::string_view help) {
  options_.push_back(
      {Kind::kInteger, std::string(name), 0, std::string(metavar), std::string(help)});
  options_.back().integer = value;
}

void Options::Choice(std::string_view name, std::string* value, std::vector<std::string> choices,
                     std::string_view help) {
  options_.push_back({Kind::kChoice, std::string(name), 0, Join(choices, "|"), std::string(help)});
  options_.back().text = value;
  options_.back().choices = std::move(choices);
}

void Options::List(std::string_view name, std::vector<std::string>* value, std::string_view metavar,
                   std::string_view help) {
  options_.push_back({Kind::kList, std::string(name), 0, std::string(metavar), std::string(help)});
  options_.back().list = value;
}

void Options::Example(std::string_view command, std::string_view effect) {
  examples_.emplace_back(command, effect);
}

const Options::Option* Options::Find(std::string_view name) const {
  for (const Option& option : options_) {
    if (option.name == name) return &option;
    if (name.size() == 1 && option.letter == name[0]) return &option;
  }
  return nullptr;
}

absl::Status Options::Unknown(std::string_view argument) const {
  std::vector<std::string> known = {"--help"};
  for (const Option& option : options_) known.push_back(Cat("--", option.name));
  const std::string_view name = argument.substr(0, argument.find('='));
  const std::optional<std::string> nearest = Nearest(name, known);
  return absl::InvalidArgumentError(
      Cat("unknown option '", name, "'", nearest ? Cat("; did you mean '", *nearest, "'?") : ""));
}

absl::Status Options::Set(const Option& option, std::string_view value) const {
  switch (option.kind) {
    case Kind::kFlag:
      return absl::InvalidArgumentError(Cat("option '--", option.name, "' takes no value"));
    case Kind::kText:
      *option.text = std::string(value);
      return absl::OkStatus();
    case Kind::kList:
      option.list->emplace_back(value);
      return absl::OkStatus();
    case Kind::kInteger: {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), *option.integer);
      if (error == std::errc() && end == value.data() + value.size()) return absl::OkStatus();
      return absl::InvalidArgumentError(
          Cat("option '--", option.name, "' takes an integer, not '", value, "'"));
    }
    case Kind::kChoice: {
      if (std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end()) {
        *option.text = std::string(value);
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(Cat("option '--", option.name, "' takes one of ",
                                            Join(option.choices, ", "), ", not '", value, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status Options::Parse(int argc, char** argv) {
  bool options_ended = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (options_ended || argument.size() < 2 || argument[0] != '-') {
      arguments_.emplace_back(argument);
      continue;
    }
    if (argument == "--") {
      options_ended = true;
      continue;
    }
    if (argument == "--help" || argument == "-h") {
      help_ = true;
      continue;
    }
    const bool is_long = argument[1] == '-';
    const std::size_t equals = is_long ? argument.find('=') : std::string_view::npos;
    const std::string_view name =
        is_long ? argument.substr(2, equals == std::string_view::npos ? equals : equals - 2)
                : argument.substr(1, 1);
    const Option* option = !is_long || name.size() > 1 ? Find(name) : nullptr;
    if (option == nullptr) return Unknown(argument);
    if (option->kind == Kind::kFlag && equals == std::string_view::npos && is_long) {
      *option->flag = true;
      continue;
    }
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (!is_long && argument.size() > 2) {
      value = argument.substr(2);  // -oFILE
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      return absl::InvalidArgumentError(Cat("option '", argument, "' needs a value"));
    }
    if (absl::Status status = Set(*option, value); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string Options::HelpText() const {
  std::string text =
      Cat("Usage: memprof ", usage_, "\n\n", Wrap(description_, kHelpWidth, 0), "\n\nOptions:\n");
  const auto line = [&text](const std::string& left, std::string_view help) {
    Append(text, "  ", left);
    if (left.size() + 3 > kHelpColumn) {
      Append(text, "\n", std::string(kHelpColumn, ' '));
    } else {
      text.append(kHelpColumn - 2 - left.size(), ' ');
    }
    Append(text, WrapAt(kHelpColumn, help), "\n");
  };
  for (const Option& option : options_) {
    std::string left = Cat("--", option.name);
    if (option.letter != 0) left = Cat('-', option.letter, ", ", left);
    if (!option.metavar.empty()) absl::StrAppend(&left, "=", option.metavar);
    line(left, option.help);
  }
  line("-h, --help", "Show this help.");
  if (!examples_.empty()) Append(text, "\nExamples:\n");
  for (const auto& [command, effect] : examples_) {
    Append(text, "  ", command, "\n      ", WrapAt(6, effect), "\n");
  }
  return text;
}

}  // namespace memprof::cli
