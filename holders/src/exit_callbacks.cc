#include "holders/src/exit_callbacks.h"

#include <sys/uio.h>
#include <unistd.h>

#include "holders/src/region.h"

namespace memprof::holders {
namespace {

struct Callback {
  PyObject* function;
  PyObject* arguments;
  PyObject* keywords;  // or null
};

constexpr std::uint32_t kMostCallbacks = 4096;         // each takes two calls of the kernel
constexpr std::size_t kPage = 4096, kMostPages = 512;  // the interpreter of 3.13 takes 60

bool Read(std::uint64_t address, void* to, std::size_t bytes) {
  const iovec local = {to, bytes}, remote = {reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

// The callbacks of a table of pointers to them; false if it is none, or lacks the known function.
bool ReadTable(std::uint64_t table, std::uint32_t count, const PyObject* known,
               Region<Callback>* callbacks) {
  bool has_known = false;
  callbacks->Clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t entry = 0;
    Callback callback{};
    if (!Read(table + i * sizeof entry, &entry, sizeof entry)) return false;
    if (entry == 0) continue;  // unregistered
    if (!Read(entry, &callback, sizeof callback) || !callbacks->Push(callback)) return false;
    has_known = has_known || callback.function == known;
  }
  return has_known;
}

// In memory from `begin` on, or as much as can be read of it: a pointer to a table, the number of
// its entries, and that of its places.
bool FindTable(std::uint64_t begin, std::size_t bytes, std::uint32_t count, const PyObject* known,
               Region<Callback>* callbacks) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::uint64_t words[kPage / kWord + 1];
  for (std::size_t at = 0; at < bytes; at += kPage) {
    const std::size_t size = bytes - at < kPage ? bytes - at : kPage + kWord;
    if (!Read(begin + at, words, size)) return false;
    for (std::size_t i = 0; i + 1 < size / kWord; ++i) {
      const auto used = static_cast<std::uint32_t>(words[i + 1]);
      const auto places = static_cast<std::uint32_t>(words[i + 1] >> 32);
      if (words[i] != 0 && words[i] % kWord == 0 && used == count && places >= count &&
          ReadTable(words[i], count, known, callbacks))
        return true;
    }
  }
  return false;
}

}  // namespace

PyObject* ExitCallbacks(PyObject* module, PyObject* known, std::uint32_t count, int minor) {
  Region<Callback> callbacks;
  const bool in_module = minor <= 9;
  const void* const place = in_module ? PyModule_GetState(module) : PyInterpreterState_Get();
  PyObject* result = PyList_New(0);
  if (result == nullptr || place == nullptr || count > kMostCallbacks ||
      !FindTable(reinterpret_cast<std::uint64_t>(place), in_module ? 16 : kPage * kMostPages, count,
                 known, &callbacks))
    return result;
  for (std::size_t i = 0; i < callbacks.size(); ++i) {
    const Callback& each = callbacks[i];
    if (each.function == nullptr || each.arguments == nullptr) continue;
    PyObject* entry = PyTuple_New(3);
    if (entry == nullptr) return result;
    PyObject* const parts[] = {each.function, each.arguments,
                               each.keywords == nullptr ? &_Py_NoneStruct : each.keywords};
    for (int part = 0; part < 3; ++part) {
      Py_IncRef(parts[part]);
      PyTuple_SetItem(entry, part, parts[part]);
    }
    PyList_Append(result, entry);
    Py_DecRef(entry);
  }
  return result;
}

}  // namespace memprof::holders
