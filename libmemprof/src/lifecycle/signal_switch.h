// MEMPROF_SIGNAL: a signal that begins, stops and resumes recording.
#pragma once

namespace memprof::recorder {

// The number of a signal by its name ("USR2", "SIGUSR2", "HUP", "12"); 0 for signals that programs
// need, and for what is no signal.
int SignalNumber(const char* name);

// Installs the handler for the signal `name`. Installs it again if the program has replaced it; the
// program's handler is then called after ours. Null: does nothing.
void InstallSignalSwitch(const char* name);

// Starts a thread that waits for the signal, for a process in which the library is only injected:
// no call of the program passes through it that could begin the recording. Does nothing if no
// handler is installed.
void AwaitSignal();

}  // namespace memprof::recorder
