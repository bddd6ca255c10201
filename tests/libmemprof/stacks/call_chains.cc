// Each shape of frame is a function that calls the next one of the chain.
#include "tests/libmemprof/stacks/call_chains.h"

#include <alloca.h>
#include <unwind.h>

#include <cstdlib>
#include <iterator>

namespace memprof::recorder {
namespace {

// A chain of calls: one digit a frame.
struct Chain {
  const std::vector<int>* shapes = nullptr;
  std::size_t at = 0;
  std::function<void()> bottom;
  volatile std::uint64_t sink = 0;
};

void Continue(Chain* chain);

// Prevents inlining and cloning, so that every shape has its own frame.
#if defined(__clang__)  // Clang makes no clones
#define SHAPE __attribute__((noinline))
#else
#define SHAPE __attribute__((noinline, noclone))
#endif

SHAPE void Plain(Chain* chain) {
  Continue(chain);
  chain->sink = chain->sink + 1;
}

SHAPE void ManyRegisters(Chain* chain) {
  std::uint64_t a = chain->sink, b = a + 1, c = b * 3, d = c ^ 5, e = d + 7, f = e * 11;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  Continue(chain);
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  chain->sink = a + b + c + d + e + f;
}

SHAPE void BigFrame(Chain* chain) {
  volatile char room[3000];
  room[chain->at % sizeof room] = 1;
  Continue(chain);
  chain->sink = chain->sink + static_cast<std::uint64_t>(room[0]);
}

SHAPE void VariableFrame(Chain* chain) {
  const std::size_t bytes = 16 + chain->sink % 512;
  auto* room = static_cast<volatile char*>(alloca(bytes));
  room[0] = 1;
  Continue(chain);
  chain->sink = chain->sink + static_cast<std::uint64_t>(room[0]);
}

SHAPE void RealignedFrame(Chain* chain) {
  alignas(128) volatile char room[256];
  room[0] = 1;
  Continue(chain);
  chain->sink = chain->sink + static_cast<std::uint64_t>(room[0]);
}

SHAPE void RealignedVariableFrame(Chain* chain) {
  alignas(64) volatile char room[64];
  auto* more = static_cast<volatile char*>(alloca(16 + chain->sink % 256));
  room[0] = 1;
  more[0] = 1;
  Continue(chain);
  chain->sink = chain->sink + static_cast<std::uint64_t>(room[0] + more[0]);
}

Chain* g_sorted_chain = nullptr;
int Compare(const void*, const void*) {
  Chain* chain = g_sorted_chain;
  if (chain != nullptr) {
    g_sorted_chain = nullptr;
    Continue(chain);
  }
  return 0;
}
SHAPE void ThroughTheCLibrary(Chain* chain) {
  g_sorted_chain = chain;
  int numbers[2] = {2, 1};
  qsort(numbers, 2, sizeof numbers[0], Compare);
  chain->sink = chain->sink + 1;
}

SHAPE void ThroughAnObject(Chain* chain) {
  const std::function<void()> call = [chain] { Continue(chain); };
  call();
  chain->sink = chain->sink + 1;
}

SHAPE void InACatchBlock(Chain* chain) {
  try {
    throw chain;
  } catch (Chain* caught) {
    Continue(caught);
  }
  chain->sink = chain->sink + 1;
}

using Shape = void (*)(Chain*);
constexpr Shape kShapes[] = {
    Plain,          ManyRegisters,          BigFrame,           VariableFrame,
    RealignedFrame, RealignedVariableFrame, ThroughTheCLibrary, ThroughAnObject,
    InACatchBlock};
static_assert(std::size(kShapes) == kShapeCount);

SHAPE void Continue(Chain* chain) {
  if (chain->at == chain->shapes->size())
    chain->bottom();
  else
    kShapes[(*chain->shapes)[chain->at++]](chain);
  chain->sink = chain->sink + 1;
}

_Unwind_Reason_Code AddFrame(_Unwind_Context* context, void* data) {
  static_cast<Frames*>(data)->push_back(reinterpret_cast<void*>(_Unwind_GetIP(context)));
  return _URC_NO_REASON;
}

}  // namespace

SHAPE void RunChain(const std::vector<int>& shapes, std::uint64_t seed,
                    const std::function<void()>& bottom) {
  Chain chain;
  chain.shapes = &shapes;
  chain.bottom = bottom;
  chain.sink = seed;
  Continue(&chain);
  asm volatile("");
}

SHAPE Frames UnwindByCompiler() {
  Frames frames;
  _Unwind_Backtrace(AddFrame, &frames);
  while (!frames.empty() && frames.back() == nullptr) frames.pop_back();
  if (!frames.empty()) frames.erase(frames.begin());  // the frame of this function
  return frames;
}

std::vector<int> RandomShapes(std::mt19937_64* random, int most) {
  std::vector<int> shapes((*random)() % static_cast<unsigned>(most));
  for (int& shape : shapes) shape = static_cast<int>((*random)() % kShapeCount);
  return shapes;
}

}  // namespace memprof::recorder
