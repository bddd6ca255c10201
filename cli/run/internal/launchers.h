// Programs that start another one, as named in their arguments or in the first line of a script.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// The words of a script's first line; empty if it names no interpreter.
std::vector<std::string> InterpreterLine(const std::string& path);

// Whether a program of this name starts the program that its arguments name: env, nice, timeout...
bool IsLauncher(const std::string& word);

struct Launched {
  std::vector<std::string> words;  // the started program and its arguments; empty if unknown
  bool keeps_preload = true;       // false: env removes LD_PRELOAD
};

// What the launcher words[0] starts. Empty for other programs.
Launched LaunchedBy(const std::vector<std::string>& words);

}  // namespace memprof::cli
