/* The start of a program that is linked for an old glibc. Since 2.34 the C library itself runs the constructors
 * of a program, and the start-up code of the compiler passes it no function for that. Older ones call what
 * they are given, and without it the constructors would not run. Both accept this one. */
#include <stddef.h>

typedef int (*main_function)(int, char**, char**);
typedef void (*constructor)(int, char**, char**);

extern constructor __preinit_array_start[], __preinit_array_end[];
extern constructor __init_array_start[], __init_array_end[];
extern void _init(void);

extern int start_main(main_function, int, char**, constructor, void (*)(void), void (*)(void), void*);
#ifdef __x86_64__
__asm__(".symver start_main,__libc_start_main@GLIBC_2.2.5");
#else
__asm__(".symver start_main,__libc_start_main@GLIBC_2.17");
#endif

static void run_constructors(int argc, char** argv, char** environment) {
  for (constructor* each = __preinit_array_start; each < __preinit_array_end; ++each)
    (*each)(argc, argv, environment);
  _init();
  for (constructor* each = __init_array_start; each < __init_array_end; ++each)
    (*each)(argc, argv, environment);
}

__attribute__((visibility("hidden"))) int __libc_start_main(main_function main, int argc, char** argv,
                                                            constructor init, void (*fini)(void),
                                                            void (*loader_fini)(void), void* stack_end) {
  (void)init;
  return start_main(main, argc, argv, run_constructors, fini, loader_fini, stack_end);
}
