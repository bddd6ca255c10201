// The table of families and scenarios.
#include "families.h"

#include "peer.h"

namespace {

template <typename Row>
const Row* FindRow(std::span<const Row> Group::*rows, std::string_view name) {
  for (const Group* group : {&kMemory, &kPools, &kGraphs, &kVmm, &kCode, &kContexts, &kShared})
    for (const Row& row : group->*rows)
      if (row.name == name) return &row;
  return nullptr;
}

// The failing call makes the recorder sample the device's memory.
void AskForTooMuch() {
  const auto allocate = PROC(cuMemAlloc_v2, "cuMemAlloc", 3020);
  CUdeviceptr nothing = 0;
  constexpr std::size_t kTooMuch = std::size_t{1} << 50;
  MUST_FAIL(CUDA_ERROR_OUT_OF_MEMORY, allocate(&nothing, kTooMuch));
  Expect("alloc_failed", "linear", 0, 0, kTooMuch, "cuMemAlloc_v2");
}

}  // namespace

const Family* FindFamily(std::string_view name) { return FindRow(&Group::families, name); }
const Scenario* FindScenario(std::string_view name) { return FindRow(&Group::scenarios, name); }

void Run(const std::function<void()>& calls) {
  OpenDriver();
  UsePrimary();
  calls();
  AskForTooMuch();
}

bool RunAsPeer(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[0], kPeerName) != 0) return false;
  if (const Scenario* scenario = FindScenario(argv[1]))
    Run(scenario->peer);
  else
    FindFamily(argv[1])->peer();
  return true;
}
