/* Asks a real cuDNN, from 9.8 on, for its plans: SIMCUDA_CUDNN names the folder of its libraries.
 * Its heuristics need only a description of the GPU ("deviceless ahead-of-time compilation" in
 * NVIDIA's documentation). It runs in a process of its own, simcuda-cudnn-plans, because its
 * libraries have the names of the stand-ins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcudnn.h"

struct asked {
  FILE* to;
  FILE* from;
};

static void say(const char* what, const char* name) {
  fprintf(stderr, "simcuda: %s %s: workspaces of convolutions are estimated\n", what, name);
}

/* The path of the program, next to the file that this code is in. */
static int find_program(char* path, size_t bytes) {
  Dl_info information;
  static const char kName[] = "/simcuda-cudnn-plans";
  if (dladdr((void*)(uintptr_t)&reference_plans, &information) == 0) return 0;
  const char* slash = strrchr(information.dli_fname, '/');
  const size_t folder = slash == NULL ? 0 : (size_t)(slash - information.dli_fname);
  if (slash == NULL || folder + sizeof kName > bytes) return 0;
  memcpy(path, information.dli_fname, folder);
  memcpy(path + folder, kName, sizeof kName);
  return access(path, X_OK) == 0;
}

static int start(const char* folder, struct asked* asked) {
  char path[4096];
  int request[2], answer[2];
  if (!find_program(path, sizeof path)) return 0;
  if (pipe2(request, O_CLOEXEC) != 0) return 0;
  if (pipe2(answer, O_CLOEXEC) != 0) {
    close(request[0]), close(request[1]);
    return 0;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, request[0], 0);
  posix_spawn_file_actions_adddup2(&actions, answer[1], 1);
  char* const arguments[] = {path, (char*)(uintptr_t)folder, NULL};
  char* const environment[] = {NULL}; /* no stand-ins, nothing that is injected */
  pid_t child;
  const int failed = posix_spawn(&child, path, &actions, NULL, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(request[0]), close(answer[1]);
  asked->to = failed ? NULL : fdopen(request[1], "w");
  asked->from = failed ? NULL : fdopen(answer[0], "r");
  return asked->to != NULL && asked->from != NULL;
}

static void put(FILE* to, const int64_t* values, int count) {
  for (int i = 0; i < count; ++i) fprintf(to, " %lld", (long long)values[i]);
}

static int ask(const struct asked* asked, const struct convolution* c, int capability,
               struct convolution_plan* plans) {
  fprintf(asked->to, "%d %d %d %d %lld", capability, c->kind, c->type, c->dims,
          (long long)c->alignment);
  put(asked->to, c->x, c->dims), put(asked->to, c->x_strides, c->dims);
  put(asked->to, c->w, c->dims), put(asked->to, c->w_strides, c->dims);
  put(asked->to, c->y, c->dims), put(asked->to, c->y_strides, c->dims);
  put(asked->to, c->padding, c->dims - 2), put(asked->to, c->strides, c->dims - 2);
  put(asked->to, c->dilations, c->dims - 2);
  int count = -1;
  if (fputc('\n', asked->to) == EOF || fflush(asked->to) != 0) return -1;
  if (fscanf(asked->from, "%d", &count) != 1 || count < 0 || count > kMaxPlans) return -1;
  for (int i = 0; i < count; ++i) {
    long long workspace;
    if (fscanf(asked->from, "%lld %u", &workspace, &plans[i].notes) != 2) return -1;
    plans[i].workspace = workspace;
  }
  return count;
}

int reference_plans(const struct convolution* convolution, int capability,
                    struct convolution_plan* plans) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static enum { kNew, kRunning, kNone } state = kNew;
  static struct asked asked;
  static pid_t owner; /* a fork has none */
  int count = 0;
  pthread_mutex_lock(&mutex);
  const char* folder = getenv("SIMCUDA_CUDNN");
  if (state == kNew || (state == kRunning && owner != getpid())) {
    state = kNone;
    owner = getpid();
    if (folder != NULL && *folder != '\0') {
      /* The end of the other process is found by its answer, so it must not end this one. */
      if (start(folder, &asked))
        state = kRunning;
      else
        say("cannot start simcuda-cudnn-plans for", folder);
    }
  }
  if (state == kRunning) {
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
    count = ask(&asked, convolution, capability, plans);
    if (handler != SIG_ERR) signal(SIGPIPE, handler);
    if (count < 0) {
      state = kNone;
      count = 0;
      say("no answer of the cuDNN in", folder == NULL ? "" : folder);
    }
  }
  pthread_mutex_unlock(&mutex);
  return count;
}
