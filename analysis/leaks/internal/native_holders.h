// Holders in native code: the variables that scans of host memory found, by name, and the library
// that asked for memory which Python only knows to be held by native code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols_module.h"

namespace memprof::analysis {

// Replaces "global of /path/libtrainer.so" in the labels of a scan by "global `g_cache` of
// libtrainer.so + 0x40", with the symbols of the file if it is still the recorded one.
//
// Entries that are alike are told as one: without the offset where memory of one kind is held at
// several places of a variable (a tree has pointers to three of its nodes), or where pointers lie
// at more than kFewPlaces of it (an array).
class NativeHolders {
 public:
  explicit NativeHolders(const Session& session) : session_(session) {}

  // All holders of the session first: the label, and the place + 1 that it was found with.
  void Add(std::string_view label, std::uint64_t place_1);
  // Then the label with the variable's name.
  std::string Named(std::string_view label, std::uint64_t place_1);

 private:
  static constexpr std::size_t kFewPlaces = 4;
  struct Found {
    std::string words;  // "global `g_cache` of libtrainer.so"
    std::uint64_t offset = 0;
  };
  const Found& Find(std::string_view root, std::uint64_t place_1);
  ModuleSymbols* SymbolsOf(std::string_view path);

  const Session& session_;
  std::map<std::string, std::unique_ptr<ModuleSymbols>, std::less<>> files_;
  std::map<std::pair<std::string, std::uint64_t>, Found> found_;  // by root and place
  std::map<std::pair<std::string, std::string>, std::set<std::uint64_t>>
      offsets_;  // by label, words
};

// The library whose code asked for memory with this stack: the file name of the innermost binary
// that is none of CUDA, of a framework, of Python, of the C library or of the recorder; "" if there
// is none.
std::string AskingLibrary(const Session& session, StackId stack);

}  // namespace memprof::analysis
