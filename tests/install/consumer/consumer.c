/* Uses the C API of an installed memprof, without CUDA and without a recording. */
#include <memprof/memprof.h>
#include <stdio.h>

static struct memprof_stats stats;

int main(void) {
  stats.size = sizeof stats;
  const int step = memprof_step(1);
  const int snapshot = memprof_snapshot(NULL);
  const int result = memprof_get_stats(&stats);
  printf("step %d snapshot %d stats %d recording %u\n", step, snapshot, result, stats.recording);
  return 0;
}
