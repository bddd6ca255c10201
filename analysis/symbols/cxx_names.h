// Names of functions taken apart, most of them of C++.
#pragma once

#include <string_view>

namespace memprof::analysis {

// The name alone: without return type and parameters, which imported names have. Views `function`.
std::string_view BareName(std::string_view function);

// "a::Tensor" of "a::Tensor::Clone<int>(a::Tensor const&) const": the scope that the function is
// in; "" if it is in none. Views `function`.
std::string_view ScopeOf(std::string_view function);
// "a::Tensor::Tensor", also of templates: `function` makes objects of the class that it is in.
bool IsConstructor(std::string_view function);

// "backward of " of "backward of Net.forward": what analysis/load/internal/backward_stacks.h puts
// before a name.
// "" of others. Views `function`.
std::string_view PassWords(std::string_view function);

}  // namespace memprof::analysis
