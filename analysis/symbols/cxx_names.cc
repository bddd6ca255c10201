// Finds the parts of a demangled name.
#include "analysis/symbols/cxx_names.h"

#include <algorithm>
#include <cstddef>

namespace memprof::analysis {
namespace {

bool DropSuffix(std::string_view* text, std::string_view suffix) {
  // A reference qualifier is told from `operator&` by the parenthesis before it, which stays.
  const std::size_t keep = suffix.front() == ')' ? 1 : 0;
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size() - keep);
  return true;
}

// Where the parameter list of a demangled name begins; its end if it has none.
std::size_t ParametersAt(std::string_view name) {
  if (name.empty() || name.back() != ')') return name.size();
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      const bool call_operator = name.substr(0, i).ends_with("operator");
      return i == 0 || call_operator ? name.size() : i;
    }
  }
  return name.size();
}

// Where the name itself begins, behind a return type: after the last space outside of brackets.
std::size_t NameAt(std::string_view name) {
  const std::size_t limit = std::min(name.rfind("operator"), name.size());
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < limit; ++i) {
    if (name[i] == '<' || name[i] == '(' || name[i] == '{' || name[i] == '[') ++depth;
    if (name[i] == '>' || name[i] == ')' || name[i] == '}' || name[i] == ']') --depth;
    if (name[i] == ' ' && depth == 0) begin = i + 1;
  }
  return begin;
}

// The name without parameters, and where its last "::" outside of template arguments is.
struct QualifiedName {
  std::string_view name;
  std::size_t last_scope = std::string_view::npos;
};

QualifiedName Qualify(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  QualifiedName qualified{function};
  int depth = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    if (function[i] == '<') ++depth;
    if (function[i] == '>') --depth;
    if (depth != 0) continue;
    if (function.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (function[i] == '(') {
      qualified.name = function.substr(0, i);
      break;
    } else if (function.substr(i).starts_with("::")) {
      qualified.last_scope = i++;
    }
  }
  return qualified;
}

std::string_view WithoutTemplateArguments(std::string_view name) {
  return name.substr(0, name.find('<'));
}

}  // namespace

std::string_view BareName(std::string_view function) {
  std::string_view name = function;
  for (std::size_t clone; (clone = name.rfind(" [clone ")) != std::string_view::npos;)
    name = name.substr(0, clone);
  while (DropSuffix(&name, " const") || DropSuffix(&name, " volatile") ||
         DropSuffix(&name, ") &") || DropSuffix(&name, ") &&")) {
  }
  name = name.substr(0, ParametersAt(name));
  return name.substr(NameAt(name));
}

std::string_view ScopeOf(std::string_view function) {
  const QualifiedName qualified = Qualify(function);
  return qualified.last_scope == std::string_view::npos ? std::string_view()
                                                        : function.substr(0, qualified.last_scope);
}

bool IsConstructor(std::string_view function) {
  const QualifiedName qualified = Qualify(function);
  if (qualified.last_scope == std::string_view::npos) return false;
  const std::string_view scope = function.substr(0, qualified.last_scope);
  const QualifiedName outer = Qualify(scope);
  const std::string_view made =
      outer.last_scope == std::string_view::npos ? scope : scope.substr(outer.last_scope + 2);
  const std::string_view name = qualified.name.substr(qualified.last_scope + 2);
  const std::string_view bare = WithoutTemplateArguments(made);
  return !bare.empty() && WithoutTemplateArguments(name) == bare;
}

std::string_view PassWords(std::string_view function) {
  for (const std::string_view words : {"backward of ", "backward within ", "backward: "})
    if (function.starts_with(words)) return function.substr(0, words.size());
  return "";
}

}  // namespace memprof::analysis
