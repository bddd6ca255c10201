// Guest: what a driver's library hands out for names. Needs no device.
//
//   lookups VERSION… < NAMES
//
// Prints "symbol NAME RESULT OBJECT" for dlsym, and "answer FUNCTION NAME VERSION FLAGS RESULT
// OBJECT" for each cuGetProcAddress, VERSION and kind of default stream; OBJECT is the library of
// the function, and where it is in there. Without cuda.h, whose macros would rename names.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

std::string Object(void* function) {
  Dl_info where{};
  if (function == nullptr || dladdr(function, &where) == 0) return "none";
  const std::string path = where.dli_fname;
  return path.substr(path.rfind('/') + 1) + "+" +
         std::to_string(static_cast<char*>(function) - static_cast<char*>(where.dli_fbase));
}

}  // namespace

int main(int argc, char** argv) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    std::cerr << dlerror() << "\n";
    return 1;
  }
  std::vector<std::string> names;
  for (std::string name; std::cin >> name;) names.push_back(name);
  for (const std::string& name : names)
    std::cout << "symbol " << name << " 0 " << Object(dlsym(driver, name.c_str())) << "\n";

  using First = int (*)(const char*, void**, int, std::uint64_t);
  using Second = int (*)(const char*, void**, int, std::uint64_t, int*);
  const auto first = reinterpret_cast<First>(dlsym(driver, "cuGetProcAddress"));
  const auto second = reinterpret_cast<Second>(dlsym(driver, "cuGetProcAddress_v2"));
  for (const std::string& name : names) {
    for (int i = 1; i < argc; ++i) {
      const int version = std::atoi(argv[i]);
      for (const std::uint64_t flags : {0, 1, 2}) {  // none, legacy, per-thread default stream
        const auto print = [&](const char* which, int result, int status, void* function) {
          std::cout << "answer " << which << " " << name << " " << version << " " << flags << " "
                    << result << ":" << status << " " << Object(function) << "\n";
        };
        void* function = nullptr;
        int status = 0;
        if (first != nullptr) {
          const int result = first(name.c_str(), &function, version, flags);
          print("cuGetProcAddress", result, status, function);
        }
        function = nullptr;
        if (second != nullptr) {
          const int result = second(name.c_str(), &function, version, flags, &status);
          print("cuGetProcAddress_v2", result, status, function);
        }
      }
    }
  }
}
