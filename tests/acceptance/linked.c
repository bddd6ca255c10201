/* A program that is linked with libmemprof and reports memory to it: a tensor in step 41. With an
 * argument it records; without one every call returns that nothing is being recorded. */
#include <memprof/memprof.h>

int main(int argc, char** argv) {
  const int64_t shape[2] = {2, 3};
  const void* memory = (const void*)0x10000;
  const int expected = argc > 1 ? MEMPROF_OK : MEMPROF_NOT_RECORDING;
  int wrong = 0;
  (void)argv;
  if (argc > 1 && memprof_start() != MEMPROF_OK) return 2;
  wrong += memprof_step(41) != expected;
  wrong += memprof_range_push("forward") != expected;
  wrong += memprof_tensor_create(0, memory, 24, "weight", "float32", 2, shape) != expected;
  wrong += memprof_tensor_destroy(0, memory) != expected;
  wrong += memprof_range_pop() != expected;
  wrong += memprof_snapshot("the end") != expected;
  return wrong;
}
