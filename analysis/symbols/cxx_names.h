// Names of functions taken apart: the one parser of demangled names. It reads what demanglers of
// Itanium's scheme print, and leaves names of other languages ("Foo.<locals>.<lambda>",
// "<Vec<T> as Drop>::drop") whole. A name whose brackets do not match is one word.
#pragma once

#include <string>
#include <string_view>

namespace memprof::analysis {

// The name alone: without return type and parameters, which imported names have. Views `function`.
std::string_view BareName(std::string_view function);

// "a::Tensor" of "a::Tensor::Clone<int>(a::Tensor const&) const": the scope that the function is
// in; "" if it is in none. What is in a function, as a lambda, counts as that. Views `function`.
std::string_view ScopeOf(std::string_view function);
// "a::Tensor::Tensor", also of templates: `function` makes objects of the class that it is in.
bool IsConstructor(std::string_view function);

// "backward of " of "backward of Net.forward": what analysis/load/internal/backward_stacks.h puts
// before a name; "" of others. Views `function`.
std::string_view PassWords(std::string_view function);

// Without template arguments, lambdas' braces and ABI tags: "a::Map::Get" of
// "a::Map<int>::Get[abi:cxx11]<b>".
std::string WithoutTemplateArguments(std::string_view name);

// "Class::Step" of "a::b::Class::Step": a bare name with one scope around it, which namespaces (a
// scope in lower case, as a rule) are not. Of a lambda the function that it is in. Views `name`.
std::string_view LastScopes(std::string_view name);

// How much of a function's name is told.
enum class NameStyle {
  kWhole,      // all of it
  kQualified,  // "a::Class::Step<float>": without return type and parameters
  kShort,      // "Class::Step<float>": with one scope at most
  kBrief,      // "Class::Step": also without template arguments; operators whole
};
std::string FunctionText(std::string_view function, NameStyle style);

}  // namespace memprof::analysis
