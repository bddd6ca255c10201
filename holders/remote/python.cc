// By the symbols of the program or of libpython.
#include "holders/remote/python.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace memprof::holders {
namespace {

struct TypeSymbol {
  const char* name;
  std::uint64_t Python::*address;
};
constexpr TypeSymbol kTypes[] = {
    {"PyType_Type", &Python::type},
    {"PyCell_Type", &Python::cell},
    {"PyMethod_Type", &Python::method},
    {"PyFunction_Type", &Python::function},
    {"PyModule_Type", &Python::module},
    {"PySet_Type", &Python::set},
    {"PyFrozenSet_Type", &Python::frozen_set},
    {"PyGen_Type", &Python::generator},
    {"PyCoro_Type", &Python::coroutine},
    {"PyAsyncGen_Type", &Python::async_generator},
    {"PyFrame_Type", &Python::frame},
    {"PyTraceBack_Type", &Python::traceback},
    {"PyCode_Type", &Python::code},
};
constexpr char kRuntime[] = "_PyRuntime", kVersion[] = "Py_Version";  // the second from 3.11 on

// libpython, and the program itself, in which it may be linked.
std::vector<std::string> Candidates(const std::vector<Mapping>& mappings) {
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const Mapping& mapping : mappings) {
    if (mapping.path.empty() || mapping.path[0] != '/' || !seen.insert(mapping.path).second)
      continue;
    const std::size_t name = mapping.path.rfind('/') + 1;
    if (absl::StrContains(mapping.path.substr(name), "python")) files.push_back(mapping.path);
  }
  for (const Mapping& mapping : mappings)  // an embedding program: the first file that is mapped
    if (!mapping.path.empty() && mapping.path[0] == '/') {
      files.push_back(mapping.path);
      break;
    }
  return files;
}

// "python3.10" or "libpython3.10.so.1.0"; -1 for other names.
int MinorInName(const std::string& path) {
  const std::size_t at = path.rfind("python3.");
  if (at == std::string::npos) return -1;
  int minor = -1;
  for (std::size_t i = at + 8; i < path.size() && path[i] >= '0' && path[i] <= '9'; ++i)
    minor = (minor < 0 ? 0 : minor * 10) + (path[i] - '0');
  return minor < 100 ? minor : -1;
}

absl::Status Unknown(const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, "; CPython 3.9 to 3.14 with a GIL are known"));
}

}  // namespace

absl::StatusOr<Python> FindPython(pid_t pid, const std::vector<Mapping>& mappings, Memory& memory) {
  std::vector<std::string> names = {kRuntime, kVersion};
  for (const TypeSymbol& type : kTypes) names.push_back(type.name);
  Python python;
  int minor = -1;
  for (const std::string& file : Candidates(mappings)) {
    const std::map<std::string, std::uint64_t> found = FindSymbols(pid, mappings, file, names);
    if (!found.contains(kRuntime)) continue;
    python.runtime = found.at(kRuntime);
    for (const TypeSymbol& type : kTypes) {
      const auto symbol = found.find(type.name);
      if (symbol == found.end())
        return Unknown(absl::StrCat(file, " does not have the symbols of CPython"));
      python.*type.address = symbol->second;
    }
    minor = MinorInName(file);
    if (found.contains(kVersion)) {
      const auto version = memory.Word(found.at(kVersion));  // 0x030b07f0
      minor = version >> 24 == 3 ? static_cast<int>(version >> 16 & 0xff) : -1;
    }
    break;
  }
  if (python.runtime == 0)
    return absl::FailedPreconditionError(absl::StrCat("process ", pid, " runs no Python"));
  char offsets[recorder::kDebugOffsetsBytes] = {};
  memory.Read(python.runtime, offsets, sizeof offsets);
  if (minor < 0)
    return Unknown(absl::StrCat("process ", pid, " runs an unknown version of Python"));
  if (recorder::FindPythonLayout(minor, offsets, &python.frames) != recorder::LayoutResult::kOk ||
      !FindObjectLayout(minor, offsets, &python.layout))
    return Unknown(absl::StrCat("process ", pid, " runs a Python 3.", minor, " that is not known"));
  return python;
}

}  // namespace memprof::holders
