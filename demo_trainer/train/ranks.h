// Data parallel over processes on one machine: the program starts itself N times, and the ranks
// average their gradients through shared host memory.
#ifndef DEMO_TRAINER_TRAIN_RANKS_H_
#define DEMO_TRAINER_TRAIN_RANKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "demo_trainer/options.h"

namespace memprof::demo {

// Starts the ranks, waits for them and returns the exit status: 0 when all ended with 0, else 1.
// When one fails the others are ended. Must be called before any CUDA function.
int RunRanks(const Options& options, const std::vector<std::string>& arguments);

// A rank's view of the memory that all share: `count` floats for each rank, and a barrier.
class RankGroup {
 public:
  // Attaches to the memory behind `options.rank_fd`. A single rank needs none.
  RankGroup(const Options& options, int64_t count);
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  int64_t count() const { return count_; }
  // Replaces `values` by their mean over all ranks, the same on each. Waits for all of them.
  void Average(std::vector<float>* values);

 private:
  struct Shared;
  float* Slot(int rank) const;
  void Barrier();

  const int rank_;
  const int ranks_;
  const int64_t count_;
  size_t bytes_ = 0;
  Shared* shared_ = nullptr;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_TRAIN_RANKS_H_
