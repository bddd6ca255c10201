// Prints what is read from another process: a line "object ADDRESS" for each object that is
// reached, and "target ADDRESS<tab>PATH<tab>ROOT<tab>CHAIN…" for each object of a type that is
// looked for.
//
// usage: remote_reach PID TYPE [TIMES [MOST_OBJECTS]]
//
// With TIMES it reads so often, and prints only the numbers of objects and targets.
#include <cstdio>
#include <cstdlib>

#include "holders/remote/read.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto pid = static_cast<pid_t>(std::atoi(argv[1]));
  const int times = argc > 3 ? std::atoi(argv[3]) : 0;
  memprof::holders::ReadOptions options;
  options.targets = {argv[2]};
  if (argc > 4) options.most_objects = static_cast<std::size_t>(std::atoll(argv[4]));
  for (int i = 0; i < (times > 0 ? times : 1); ++i) {
    const auto reached = memprof::holders::ReachedObjects(pid, options);
    if (!reached.ok()) {
      std::printf("error %s\n", std::string(reached.status().message()).c_str());
      if (times == 0) return 1;
      continue;
    }
    if (times > 0) {
      std::printf("read %zu %zu\n", reached->objects.size(), reached->targets.size());
      continue;
    }
    for (const std::uint64_t object : reached->objects)
      std::printf("object %llx\n", static_cast<unsigned long long>(object));
    for (const auto& target : reached->targets) {
      std::printf("target %llx\t%s\t%s", static_cast<unsigned long long>(target.address),
                  target.path.c_str(), target.root.c_str());
      for (const std::string& each : target.chain) std::printf("\t%s", each.c_str());
      std::printf("\n");
    }
  }
  return 0;
}
