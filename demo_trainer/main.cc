// demo_trainer: a small real GPT trainer, to be profiled with memprof.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "demo_trainer/error.h"
#include "demo_trainer/leaks/leaks.h"
#include "demo_trainer/options.h"
#include "demo_trainer/train/ranks.h"
#include "demo_trainer/train/trainer.h"

namespace {

int Run(const std::vector<std::string>& arguments) {
  using namespace memprof::demo;
  const Options options = ParseOptions(arguments);
  if (options.help) {
    std::fputs(HelpText().c_str(), stdout);
    return 0;
  }
  if (options.list_leaks) {
    std::fputs(LeakTable(options).c_str(), stdout);
    return 0;
  }
  if (options.ranks > 1 && options.rank_fd < 0) return RunRanks(options, arguments);
  Trainer(options).Run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    return Run(arguments);
  } catch (const memprof::demo::UsageError& error) {
    std::fprintf(stderr, "demo_trainer: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "demo_trainer: %s\n", error.what());
    return 1;
  }
}
