// MEMPROF_SIGNAL: a signal that begins, stops and resumes recording.
#pragma once

namespace memprof::recorder {

// The number of a signal by its name ("USR2", "SIGUSR2", "HUP", "12"); 0 for any that programs
// cannot do without, and for what is no signal.
int SignalNumber(const char* name);

// Installs the handler for the signal that `name` names, or again, where the program has put its
// own in place meanwhile: that one is then called after ours. Null: does nothing.
void InstallSignalSwitch(const char* name);

// Where the library is only injected no call of the program comes by that could begin a recording
// when the signal has come: a thread waits for it. Does nothing without an installed handler.
void AwaitSignal();

}  // namespace memprof::recorder
