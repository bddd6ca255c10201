// The parser of demangled function names. It reads the output of demanglers for the Itanium scheme,
// and leaves names of other languages ("Foo.<locals>.<lambda>", "<Vec<T> as Drop>::drop") whole. A
// name with unbalanced brackets is one word.
#pragma once

#include <string>
#include <string_view>

namespace memprof::analysis {

// The name without return type and parameters, which imported names have. A view of `function`.
std::string_view BareName(std::string_view function);

// "a::Tensor" of "a::Tensor::Clone<int>(a::Tensor const&) const": the scope of the function; "" if
// it has none. Something within a function, as a lambda, has the function's scope. A view of
// `function`.
std::string_view ScopeOf(std::string_view function);
// Whether `function` is a constructor, "a::Tensor::Tensor", also of a template.
bool IsConstructor(std::string_view function);

// "backward of " of "backward of Net.forward": the prefix that
// analysis/load/internal/backward_stacks.h adds; "" for others. A view of `function`.
std::string_view PassWords(std::string_view function);

// Without template arguments, lambdas' braces and ABI tags: "a::Map::Get" of
// "a::Map<int>::Get[abi:cxx11]<b>".
std::string WithoutTemplateArguments(std::string_view name);

// "Class::Step" of "a::b::Class::Step": the name with one scope, if it is no namespace (namespaces
// are usually lower case). For a lambda the function that contains it. A view of `name`.
std::string_view LastScopes(std::string_view name);

// How much of a function's name is displayed.
enum class NameStyle {
  kWhole,      // all of it
  kQualified,  // "a::Class::Step<float>": without return type and parameters
  kShort,      // "Class::Step<float>": with one scope at most
  kBrief,      // "Class::Step": also without template arguments; operators whole
};
std::string FunctionText(std::string_view function, NameStyle style);

}  // namespace memprof::analysis
