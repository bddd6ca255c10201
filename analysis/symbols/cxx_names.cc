// Finds the parts of a demangled name.
#include "analysis/symbols/cxx_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kNpos = std::string_view::npos;

bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// How long the word "operator" and its signs are, if they stand at `at`; 0 if not. Signs may be
// brackets, hence the longest first.
std::size_t OperatorAt(std::string_view text, std::size_t at) {
  constexpr std::string_view kWord = "operator";
  if (text[at] != 'o' || !text.substr(at).starts_with(kWord)) return 0;
  if (at > 0 && IsWordChar(text[at - 1])) return 0;
  const std::string_view rest = text.substr(at + kWord.size());
  if (!rest.empty() && IsWordChar(rest.front())) return 0;
  for (const std::string_view signs :
       {"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<", "<=", "<", ">>", ">=", ">"})
    if (rest.starts_with(signs)) return kWord.size() + signs.size();
  return kWord.size();
}

// Parses a name with its brackets. An angle bracket within parentheses is a comparison; the arrow
// of a trailing return type and of operator-> closes nothing.
class Brackets {
 public:
  explicit Brackets(std::string_view text) : text_(text) {}

  // False at a closing bracket without an opening one.
  bool Pass(std::size_t i) {
    const char c = text_[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      open_.push_back(c);
    } else if (c == '>') {
      if (i > 0 && text_[i - 1] == '-') return true;
      if (open_.empty()) return false;
      if (open_.back() == '<') open_.pop_back();
    } else if (c == ')' || c == ']' || c == '}') {
      const char opener = c == ')' ? '(' : c == ']' ? '[' : '{';
      while (!open_.empty() && open_.back() != opener) open_.pop_back();
      if (open_.empty()) return false;
      open_.pop_back();
    }
    return true;
  }
  std::size_t depth() const { return open_.size(); }

 private:
  std::string_view text_;
  std::string open_;
};

// Behind the bracket that closes the one at `open`; kNpos if none does.
std::size_t CloseOf(std::string_view text, std::size_t open) {
  Brackets brackets(text);
  for (std::size_t i = open; i < text.size(); ++i) {
    if (!brackets.Pass(i)) return kNpos;
    if (brackets.depth() == 0) return i + 1;
  }
  return kNpos;
}

// The position of a name in its text, and its last "::" outside of brackets, or kNpos.
struct Name {
  std::size_t begin = 0, end = 0, last_scope = kNpos;
  // The same for the outermost function, if the name is of something in it, such as a lambda.
  std::size_t outer_end = kNpos, outer_scope = kNpos;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // `begin` is where the text of interest begins.
  Name Scan(std::size_t begin) {
    name_ = {begin, text_.size()};
    Brackets brackets(text_);
    for (std::size_t i = begin; i < text_.size();) {
      if (const std::size_t length = OperatorAt(text_, i); length > 0 && brackets.depth() <= 1) {
        i += length;  // of brackets only those in which it is an argument of a template
        if (brackets.depth() == 0) in_operator_ = true;
        continue;
      }
      if (brackets.depth() == 0 && text_[i] == '(') {
        const std::size_t next = AtParenthesis(i);
        if (next == kNpos) return name_;
        i = next;
        continue;
      }
      if (brackets.depth() == 0) At(i);
      if (!brackets.Pass(i)) return {begin, text_.size()};
      ++i;
    }
    return brackets.depth() == 0 ? name_ : Name{begin, text_.size()};
  }

 private:
  // Not in brackets.
  void At(std::size_t i) {
    if (text_.substr(i).starts_with("::")) {
      if (text_.substr(i + 2).starts_with('{')) EndOuter(i);
      name_.last_scope = i;
      in_operator_ = false;
    } else if (text_[i] == ' ' && !in_operator_) {
      for (const std::string_view qualifier : {" const::", " volatile::", " &::", " &&::"})
        if (text_.substr(i).starts_with(qualifier)) return;  // "f(int) const::Local"
      name_.begin = i + 1;                                   // a return type precedes it
      name_.last_scope = name_.outer_end = name_.outer_scope = kNpos;
    }
  }
  void EndOuter(std::size_t i) {
    if (name_.outer_end != kNpos) return;
    name_.outer_end = i;
    name_.outer_scope = name_.last_scope;
  }

  // Where the name continues after a parenthesis outside of other brackets; kNpos if it ends.
  std::size_t AtParenthesis(std::size_t i) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    const std::string_view rest = text_.substr(i), before = text_.substr(0, i);
    if (rest.starts_with(kAnonymous)) return i + kAnonymous.size();
    const std::size_t close = CloseOf(text_, i);
    if (close == kNpos) {
      name_.end = i == name_.begin ? text_.size() : i;  // a name that was cut
      return kNpos;
    }
    if (before.ends_with("decltype") || before.ends_with("decltype ")) return close;
    // "void (*Make<int>(char))(int)": a function that returns a pointer to one.
    const bool pointer = rest.starts_with("(*") || rest.starts_with("(&");
    if (pointer && i == name_.begin && i > 0) {
      const std::size_t inner = text_.find_first_not_of("(*& ", i);
      name_ = Scanner(text_.substr(0, close - 1)).Scan(inner);
      return kNpos;
    }
    const std::string_view behind = text_.substr(close);
    for (const std::string_view scope : {"::", " const::", " volatile::", " &::", " &&::"})
      if (behind.starts_with(scope)) {  // what is in a function: "f(int)::Local"
        EndOuter(i);
        return close;
      }
    if (behind.starts_with("[abi:")) return close;
    name_.end = i == name_.begin ? text_.size() : i;  // "(no call stack)" is no list
    return kNpos;
  }

  std::string_view text_;
  Name name_;
  bool in_operator_ = false;  // whose name may have spaces
};

std::string_view WithoutClones(std::string_view function) {
  return function.substr(0, function.find(" [clone "));
}

// Rust's compiler ends its names in a hash.
std::size_t WithoutHash(std::string_view text, const Name& name) {
  constexpr std::size_t kHash = 19;  // "::h0123456789abcdef"
  if (name.end < name.begin + kHash || name.last_scope != name.end - kHash ||
      text[name.last_scope + 2] != 'h')
    return name.end;
  const std::string_view hash = text.substr(name.last_scope + 3, kHash - 3);
  return hash.find_first_not_of("0123456789abcdef") == kNpos ? name.last_scope : name.end;
}

Name NameIn(std::string_view function) { return Scanner(WithoutClones(function)).Scan(0); }

// The name of the outermost function.
Name FunctionIn(std::string_view function) {
  Name name = NameIn(function);
  if (name.outer_end == kNpos) return name;
  return {name.begin, name.outer_end, name.outer_scope};
}

std::string_view LastPart(std::string_view function, const Name& name) {
  const std::size_t begin = name.last_scope == kNpos ? name.begin : name.last_scope + 2;
  return function.substr(begin, name.end - begin);
}

std::string_view WithoutTemplate(std::string_view name) { return name.substr(0, name.find('<')); }

}  // namespace

std::string_view BareName(std::string_view function) {
  const Name name = NameIn(function);
  return function.substr(name.begin, WithoutHash(function, name) - name.begin);
}

std::string_view ScopeOf(std::string_view function) {
  const Name name = FunctionIn(function);
  return name.last_scope == kNpos ? std::string_view()
                                  : function.substr(name.begin, name.last_scope - name.begin);
}

bool IsConstructor(std::string_view function) {
  const Name name = FunctionIn(function);
  if (name.last_scope == kNpos) return false;
  const std::string_view scope = function.substr(name.begin, name.last_scope - name.begin);
  const std::string_view made = WithoutTemplate(LastPart(scope, NameIn(scope)));
  return !made.empty() && WithoutTemplate(LastPart(function, name)) == made;
}

std::string_view PassWords(std::string_view function) {
  for (const std::string_view words : {"backward of ", "backward within ", "backward: "})
    if (function.starts_with(words)) return function.substr(0, words.size());
  return "";
}

std::string WithoutTemplateArguments(std::string_view name) {
  std::string kept;
  for (std::size_t i = 0; i < name.size();) {
    const std::string_view rest = name.substr(i);
    // "<module>" and ".<lambda>" are names, and no arguments.
    const bool arguments =
        name[i] == '<' && i > 0 && (IsWordChar(name[i - 1]) || name[i - 1] == ']');
    if (const std::size_t length = OperatorAt(name, i); length > 0) {
      kept += rest.substr(0, length);
      i += length;
    } else if (arguments || name[i] == '{' || rest.starts_with("[abi:")) {
      const std::size_t close = CloseOf(name, i);
      if (close == kNpos) return std::string(name);
      i = close;
    } else {
      kept += name[i++];
    }
  }
  return kept;
}

std::string_view LastScopes(std::string_view name) {
  Name whole = NameIn(name);
  while (whole.last_scope != kNpos && whole.begin == 0) {
    const std::string_view scope = name.substr(0, whole.last_scope);
    const std::string_view inner = LastPart(scope, NameIn(scope));
    if (inner.starts_with('{') || LastPart(name, whole).starts_with('{')) {
      name = BareName(scope);  // a lambda: the function that it is in
      whole = NameIn(name);
      continue;
    }
    const bool type = !inner.empty() && inner.front() >= 'A' && inner.front() <= 'Z';
    return name.substr(type ? static_cast<std::size_t>(inner.data() - name.data())
                            : whole.last_scope + 2);
  }
  return name;
}

namespace {

std::string BriefText(std::string_view function) {
  if (function.find("operator") != kNpos || function.starts_with("0x"))
    return std::string(function);
  std::string name = WithoutTemplateArguments(BareName(function));
  // where a lambda's braces were removed
  while (name.ends_with("::")) name.resize(name.size() - 2);
  if (name.find_first_not_of(": ") == kNpos) return std::string(function);
  return std::string(LastScopes(name));
}

std::string ShortText(std::string_view function) {
  constexpr std::string_view kOperator = "at::_ops::";  // in "at::_ops::bmm::call", bmm is the name
  const std::string_view name = BareName(function);
  return std::string(name.starts_with(kOperator) ? name.substr(0, name.find("::", kOperator.size()))
                                                 : LastScopes(name));
}

}  // namespace

std::string FunctionText(std::string_view function, NameStyle style) {
  if (style == NameStyle::kWhole) return std::string(function);
  const std::string_view pass = PassWords(function);
  function.remove_prefix(pass.size());
  const std::string name = style == NameStyle::kBrief   ? BriefText(function)
                           : style == NameStyle::kShort ? ShortText(function)
                                                        : std::string(BareName(function));
  return std::string(pass) + name;
}

}  // namespace memprof::analysis
