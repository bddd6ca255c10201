/* A library that calls a function of the C library. */
#include <unistd.h>

int CallsGetppid(void) { return (int)getppid(); }
