// Writes the demo log of the viewer's tests to a file, to look at: write_demo_log FILE [driver
// [STEPS]].
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/viewer/demo_log.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: write_demo_log FILE [driver [STEPS]]\n", stderr);
    return 2;
  }
  memprof::viewer::testing::DemoOptions options;
  options.framework = !(argc > 2 && std::strcmp(argv[2], "driver") == 0);
  if (argc > 3) options.steps = std::atoi(argv[3]);
  memprof::analysis::testing::LogBuilder log;
  memprof::viewer::testing::FillDemoLog(log, options);
  const absl::Status status = log.WriteTo(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
