// The thread that begins and ends an attached recording.
#include "libmemprof/src/lifecycle/attach.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/lifecycle/internal/program_python.h"
#include "libmemprof/src/lifecycle/lifecycle.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/torch/forward.h"
#include "libmemprof/src/torch/layer.h"
#include "proto/attach_page.h"

namespace memprof::recorder {

// A page of its own, cleared in forked children.
struct alignas(arch::kMaxPageBytes) OwnAttachPage : log::AttachPage {};
extern "C" __attribute__((visibility("default"))) OwnAttachPage memprof_attach_page;
OwnAttachPage memprof_attach_page;

namespace {

// How often the thread looks whether somebody wants the end.
constexpr std::uint64_t kLookNs = 100'000'000;
constexpr std::size_t kMaxSettings = 16384;

using log::AttachState;
log::AttachPage& g_page = memprof_attach_page;
char g_settings[kMaxSettings];  // lines, each ended by a zero; another zero ends them

// The value of the first line of that name. Settings that are not given are not taken from the
// program's environment, which is about another recording.
const char* Lookup(const char* name) {
  const std::size_t length = strlen(name);
  for (const char* line = g_settings; *line != '\0'; line += strlen(line) + 1)
    if (strncmp(line, name, length) == 0 && line[length] == '=') return line + length + 1;
  return nullptr;
}

AttachState State() {
  return static_cast<AttachState>(__atomic_load_n(&g_page.state, __ATOMIC_ACQUIRE));
}
void SetState(AttachState state) {
  __atomic_store_n(&g_page.state, static_cast<std::uint32_t>(state), __ATOMIC_RELEASE);
}
bool ChangeState(AttachState from, AttachState to) {
  auto expected = static_cast<std::uint32_t>(from);
  return __atomic_compare_exchange_n(&g_page.state, &expected, static_cast<std::uint32_t>(to),
                                     false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
bool EndIsWanted() { return __atomic_load_n(&g_page.end_wanted, __ATOMIC_ACQUIRE) != 0; }

bool CopySettings(const char* settings) {
  const std::size_t length = strlen(settings);
  if (length + 2 > kMaxSettings) return false;
  memcpy(g_settings, settings, length);
  g_settings[length] = g_settings[length + 1] = '\0';
  for (std::size_t i = 0; i < length; ++i)
    if (g_settings[i] == '\n') g_settings[i] = '\0';
  return true;
}

void Fail(const char* why) {
  snprintf(g_page.error, sizeof g_page.error, "%s", why);
  SetState(AttachState::kFailed);
}

bool Begin() {
  if (Recording()) {
    Fail("it records already, from its start on");
    return false;
  }
  if (!IsPreloaded()) NoteInjectedOnly();
  const int result = StartAttached(Lookup);
  if (result != MEMPROF_OK) {
    Fail(result == MEMPROF_IO_ERROR ? "its log cannot be written"
                                    : "an earlier recording has not ended, or recording is off");
    return false;
  }
  Recorder* recorder = TheRecorder();
  snprintf(g_page.log, sizeof g_page.log, "%s", recorder->log()->path());
  const char* way = IsPreloaded() ? "preloaded, and paused before" : Lookup("MEMPROF_ATTACH");
  recorder->definitions()->AddSource("attach", kSourceOn, way == nullptr ? "" : way);
  if (InjectedOnly()) {
    TheTorchLayer()->BeginLate();
    RedirectTorch();
  }
  return true;
}

// Whether libraries were loaded since the last call: PyTorch may be among them. The first time too:
// a call that was bound for the first time during the search has its slot from the loader.
bool LibrariesHaveChanged(std::uint64_t* seen) {
  Recorder* recorder = TheRecorder();
  const std::uint64_t now = recorder == nullptr ? 0 : recorder->stacks()->modules().changes() + 1;
  const bool changed = now != *seen;
  *seen = now;
  return changed;
}

// Until somebody wants the end, or the time is over. False if the program is: its last thread has
// left, and main by pthread_exit. Then the writer has to be the last thread, because it ends the
// process (Writer::EndAsLast). Where main left by the bare system call, the last thread is the
// program's.
bool Wait() {
  constexpr int kOwnThreads = 2;  // this one and the writer
  constexpr int kLooksPerSearch = 50;
  const char* seconds = Lookup("MEMPROF_FOR");
  const std::uint64_t limit = seconds == nullptr ? 0 : strtoull(seconds, nullptr, 10);
  const std::uint64_t deadline = limit == 0 ? ~std::uint64_t{0} : NowNs() + limit * 1'000'000'000;
  const std::atomic<std::uint32_t> never{0};
  std::uint64_t changes = 0;
  int status_of_main = 0;  // the writer asks again
  for (int looks = 1;; ++looks) {
    const std::uint64_t now = NowNs();
    if (EndIsWanted() || now >= deadline || !Recording()) return true;
    const int left = LastThreadsLeft(kOwnThreads, &status_of_main);
    if (left == 0 || (left == 1 && status_of_main != 0)) return false;
    FutexWait(&never, 0, deadline - now < kLookNs ? deadline - now : kLookNs);
    if (looks % kLooksPerSearch == 0 && InjectedOnly() && LibrariesHaveChanged(&changes))
      RedirectTorch();
  }
}

// Python last: its lock may be held for long, and the recording has ended meanwhile.
void End() {
  SetState(AttachState::kEnding);
  if (InjectedOnly()) {
    RestoreTorch();
    EndAttached();
    FinishRecording();
    TakeDownRecording();
  } else {
    StopRecording();
  }
  RunInPython(Lookup("MEMPROF_PYTHON_END"));
  SetState(AttachState::kEnded);
}

void* AttachMain(void*) {
  pthread_setname_np(pthread_self(), "memprof-attach");
  // A paused recording that could not be taken down before is no hindrance for another try.
  if (!IsPreloaded()) TakeDownRecording();
  if (!Begin()) return nullptr;
  SetState(AttachState::kRecording);
  RunInPython(Lookup("MEMPROF_PYTHON_BEGIN"));
  if (Wait()) End();
  return nullptr;
}

}  // namespace

int Attach(const char* settings) {
  const AttachState before = State();
  if (before == AttachState::kStarting || before == AttachState::kRecording ||
      before == AttachState::kEnding || !ChangeState(before, AttachState::kStarting))
    return MEMPROF_UNAVAILABLE;
  madvise(&memprof_attach_page, sizeof memprof_attach_page, MADV_WIPEONFORK);
  g_page.layout = log::kAttachLayout;
  __atomic_store_n(&g_page.end_wanted, 0, __ATOMIC_RELEASE);
  if (settings == nullptr || !CopySettings(settings)) {
    Fail("the settings are too long");
    return MEMPROF_INVALID_ARGUMENT;
  }
  // No handler of the program may run on this thread.
  sigset_t all, before_us;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_us);
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, AttachMain, nullptr);
  if (error == 0)
    pthread_detach(thread);
  else
    Fail("no thread can be created");
  pthread_sigmask(SIG_SETMASK, &before_us, nullptr);
  return error == 0 ? MEMPROF_OK : MEMPROF_UNAVAILABLE;
}

bool IsAttached() {
  const AttachState state = State();
  return state == AttachState::kStarting || state == AttachState::kRecording;
}

}  // namespace memprof::recorder
