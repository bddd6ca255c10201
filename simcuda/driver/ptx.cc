// A tolerant reader of PTX declarations (PTX ISA, "State Spaces, Types, and Variables").
#include "simcuda/driver/ptx.h"

#include <cctype>
#include <charconv>

namespace memprof::simcuda {
namespace {

constexpr size_t kMaxCount = size_t{1} << 40;

// Words and single punctuation marks of PTX, without comments.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  std::string_view Next() {
    SkipSpace();
    if (at_ >= text_.size()) return {};
    const size_t start = at_++;
    if (IsWord(text_[start])) {
      while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
    }
    return text_.substr(start, at_ - start);
  }

 private:
  static bool IsWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' ||
           c == '%';
  }
  void SkipSpace() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (std::isspace(static_cast<unsigned char>(rest[0])) != 0) {
        ++at_;
      } else if (rest.starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest.starts_with("/*")) {
        const size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

size_t TypeBytes(std::string_view type) {
  if (type == ".pred") return 1;
  for (const auto& [suffix, bytes] : {std::pair<std::string_view, size_t>{"128", 16},
                                      {"64", 8},
                                      {"32", 4},
                                      {"16", 2},
                                      {"8", 1}}) {
    if (type.size() == suffix.size() + 2 && type[0] == '.' && type.ends_with(suffix)) {
      return bytes;
    }
  }
  return 0;
}

// Reads one variable after its state space: qualifiers, type, name, perhaps [count]. The token
// after it is in *token.
size_t ReadVariable(Tokens& tokens, std::string_view* token, std::string* name) {
  size_t bytes = 0;
  *token = tokens.Next();
  while (token->starts_with(".")) {
    if (const size_t type = TypeBytes(*token); type != 0) bytes = type;
    if (*token == ".align" || *token == ".attribute") tokens.Next();
    *token = tokens.Next();
  }
  *name = std::string(*token);
  *token = tokens.Next();
  while (*token == "[") {
    size_t count = 0;
    const std::string_view number = tokens.Next();
    std::from_chars(number.data(), number.data() + number.size(), count);
    if (count > kMaxCount / (bytes == 0 ? 1 : bytes)) count = 0;
    bytes *= count;
    if (number != "]") tokens.Next();
    *token = tokens.Next();
  }
  return bytes;
}

}  // namespace

bool LooksLikePtx(std::string_view text) {
  return text.find(".version") != std::string_view::npos &&
         text.find(".target") != std::string_view::npos;
}

PtxContents ReadPtx(std::string_view text) {
  PtxContents contents;
  Tokens tokens(text);
  int depth = 0;
  for (std::string_view token = tokens.Next(); !token.empty(); token = tokens.Next()) {
    if (token == "{") ++depth;
    if (token == "}") --depth;
    if (depth != 0) continue;
    if (token == ".entry") {
      auto& sizes = contents.kernels[std::string(tokens.Next())];
      token = tokens.Next();
      if (token != "(") {
        if (token == "{") ++depth;
        continue;
      }
      while (!token.empty() && token != ")") {
        token = tokens.Next();
        if (token != ".param") continue;
        std::string name;
        sizes.push_back(ReadVariable(tokens, &token, &name));
      }
    } else if (token == ".global" || token == ".const") {
      std::string name;
      const size_t bytes = ReadVariable(tokens, &token, &name);
      if (bytes != 0) contents.globals[name] = bytes;
      if (token == "{") ++depth;
    }
  }
  return contents;
}

}  // namespace memprof::simcuda
