// The training text, and the windows of it that a batch holds.
#ifndef DEMO_TRAINER_TRAIN_TEXT_H_
#define DEMO_TRAINER_TRAIN_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::demo {

// Tokens and the bytes that follow each: `rows` windows of `context`.
struct HostBatch {
  std::vector<int> tokens;
  std::vector<int> targets;
};

class Text {
 public:
  // Reads a file; an empty path means the bundled text. Throws Error when there is none, or when
  // it is too short for windows of `context` bytes.
  Text(const std::string& path, int64_t context, uint64_t seed);

  // Windows first_row … first_row + rows of the batch of a step: the same for a row for any
  // distribution of the batch. From the first nine tenths.
  HostBatch TrainingBatch(int64_t step, int64_t first_row, int64_t rows) const;
  // From the last tenth.
  HostBatch EvaluationBatch(int64_t index, int64_t rows) const;

  int64_t bytes() const { return static_cast<int64_t>(text_.size()); }

 private:
  void AppendWindow(int64_t offset, HostBatch* batch) const;

  const int64_t context_;
  const uint64_t seed_;
  std::string text_;
  int64_t held_out_from_ = 0;
};

// The path of the bundled text: beside the build, or installed. Empty if it is not found.
std::string FindBundledText();

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_TRAIN_TEXT_H_
