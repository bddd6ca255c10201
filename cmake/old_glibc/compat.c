/* Functions that are younger than the oldest glibc for which we link, for our own code and for the
 * compiler's static libraries. Hidden: each library has its own, and shows none to the program.
 * Each does what the function with its name does; which glibc has brought that is in brackets. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* The kernel's struct stat is glibc's, on 64-bit systems. [2.33; before, these were macros] */
int fstatat(int folder, const char* restrict path, struct stat* restrict status, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}
int stat(const char* restrict path, struct stat* restrict status) {
  return fstatat(AT_FDCWD, path, status, 0);
}
int lstat(const char* restrict path, struct stat* restrict status) {
  return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
int fstat(int fd, struct stat* status) { return (int)syscall(SYS_fstat, fd, status); }
int fstat64(int fd, struct stat64* status) { return (int)syscall(SYS_fstat, fd, status); }

pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); } /* [2.30] */

int memfd_create(const char* name, unsigned flags) { /* [2.27] */
  return (int)syscall(SYS_memfd_create, name, flags);
}

ssize_t getrandom(void* bytes, size_t count, unsigned flags) { /* [2.25] */
  return syscall(SYS_getrandom, bytes, count, flags);
}

int getentropy(void* bytes, size_t count) { /* [2.25] */
  if (count > 256) {
    errno = EIO;
    return -1;
  }
  for (size_t got = 0; got < count;) {
    const ssize_t more = getrandom((char*)bytes + got, count - got, 0);
    if (more < 0 && errno != EINTR) return -1;
    if (more > 0) got += (size_t)more;
  }
  return 0;
}

uint32_t arc4random(void) { /* [2.36] std::random_device */
  uint32_t value = 0;
  getentropy(&value, sizeof value);
  return value;
}

/* libstdc++ leaves locked instructions out while there is one thread. It may always use them. [2.32] */
char __libc_single_threaded = 0;

/* The old function knows no other clock than that of the system. [2.30] */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  struct timespec now, end;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += until->tv_sec - now.tv_sec;
  end.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (end.tv_nsec < 0) {
    end.tv_nsec += 1000000000;
    --end.tv_sec;
  } else if (end.tv_nsec >= 1000000000) {
    end.tv_nsec -= 1000000000;
    ++end.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

#ifdef DLFO_EH_SEGMENT_TYPE
/* The unwinder of libgcc asks for the call-frame table of a function by this alone. [2.35] */
struct search {
  uintptr_t pc;
  struct dl_find_object* result;
};

static int look_in(struct dl_phdr_info* module, size_t bytes, void* data) {
  struct search* search = data;
  const ElfW(Phdr)* table = NULL;
  int inside = 0;
  (void)bytes;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &module->dlpi_phdr[i];
    const uintptr_t begin = module->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && search->pc - begin < part->p_memsz) inside = 1;
    if (part->p_type == DLFO_EH_SEGMENT_TYPE) table = part;
  }
  if (!inside) return 0;
  if (table == NULL) return -1;
  memset(search->result, 0, sizeof *search->result);
  search->result->dlfo_eh_frame = (void*)(module->dlpi_addr + table->p_vaddr);
  return 1;
}

int _dl_find_object(void* pc, struct dl_find_object* result) {
  struct search search = {(uintptr_t)pc, result};
  return dl_iterate_phdr(look_in, &search) == 1 ? 0 : -1;
}
#endif
