// Code for the Python of the program, if there is one.
#pragma once

namespace memprof::recorder {

// Executes `code`, UTF-8, in the main interpreter. Waits for its lock, for as long as the program
// holds it: only for a thread of ours. Nothing happens without code, or without Python.
void RunInPython(const char* code);

}  // namespace memprof::recorder
