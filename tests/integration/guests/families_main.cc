// A guest that runs one scenario, or takes and gives back two blocks of one family.
//
//   families NAME
#include "../../families/calls.h"
#include "../../families/families.h"
#include "../../families/peer.h"

namespace {

bool RunNamed(const char* name) {
  if (const Scenario* scenario = FindScenario(name)) {
    if (scenario->peer != nullptr) StartPeer(name, true);
    Run(scenario->run);
  } else if (const Family* family = FindFamily(name)) {
    if (family->peer != nullptr) StartPeer(name, false);
    Run([family] {
      Blocks blocks(*family);
      for (int i = 0; i < 2; ++i) blocks.Take(2 * kPage);
      blocks.GiveBack();
    });
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return RunAsPeer(argc, argv) || (argc == 2 && RunNamed(argv[1])) ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "line %d: %s\n", g_line, error.what());
    return 3;
  }
}
