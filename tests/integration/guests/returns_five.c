/* A program that must run without the recorder: says whether something is preloaded. */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  puts(getenv("LD_PRELOAD") == NULL ? "alone" : "preloaded");
  return 5;
}
