// Logits: with a large vocabulary they are the largest tensors of a step, and the loss makes
// several of their size. PyTorch's linear_cross_entropy computes them, the loss and the gradients
// in pieces of rows, within the forward pass.
#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "analysis/remedies/internal/finders.h"

namespace memprof::analysis::remedies {
namespace {

// Up to so much more than requested: the allocator gives the rest of a block if it is no larger.
constexpr std::uint64_t kSlack = 1 << 20;
// Buffers of the size of a piece's logits that live at once: logits, their exponentials, gradients.
constexpr std::uint64_t kPieces = 3;
// Smaller ones are no vocabulary's.
constexpr std::uint64_t kLeast = 4 << 20;

bool SameSize(std::uint64_t a, std::uint64_t b, std::uint64_t slack = kSlack) {
  return std::max(a, b) - std::min(a, b) <= slack;
}

// The share of rows in a piece, as LinearCrossEntropyOptions() chooses it for a power of two of
// rows: 1 / (classes / features), rounded up to a power of two.
std::uint64_t PieceBytes(std::uint64_t logits, std::uint64_t hidden) {
  return logits / std::bit_floor(std::max<std::uint64_t>(1, (logits + hidden - 1) / hidden));
}

class Losses {
 public:
  explicit Losses(const Input& input) : input_(input), blocks_(input.training.blocks) {}

  void Find(Found* found) {
    // The blocks of a pass follow each other.
    for (std::size_t begin = 0; begin < blocks_.size();) {
      std::size_t end = begin;
      while (end < blocks_.size() && blocks_[end].pass == blocks_[begin].pass) ++end;
      Change(begin, end);
      begin = end;
    }
    if (!at_peak_) return;
    remedy_.seen = "logits of the whole batch, their logarithm, and the gradients of both";
    remedy_.change =
        "Compute the head and the loss together, in pieces: torch.nn.functional."
        "linear_cross_entropy(hidden, head.weight, labels, "
        "options=torch.nn.LinearCrossEntropyOptions()) of PyTorch 2.15, or Liger's "
        "LigerFusedLinearCrossEntropyLoss.";
    remedy_.assumption = "Nothing else needs the logits; labels without smoothing or weights.";
    found->push_back(std::move(remedy_));
  }

 private:
  // The largest block in which a forward pass computes the logarithm of a softmax.
  const Block* LogSoftmax(std::size_t begin, std::size_t end) {
    const Block* largest = nullptr;
    for (std::size_t i = begin; i < end; ++i) {
      const Block& block = blocks_[i];
      if (block.part != Part::kForward || block.bytes < kLeast) continue;
      if (largest != nullptr && block.bytes <= largest->bytes) continue;
      if (IsLogSoftmax(block.stack)) largest = &block;
    }
    return largest;
  }
  bool IsLogSoftmax(StackId stack) {
    const auto [it, fresh] = is_log_softmax_.try_emplace(stack, false);
    if (!fresh) return it->second;
    for (const SourceFrame& frame : input_.symbols.ResolveStack(stack))
      it->second |= frame.function.find("cross_entropy") != std::string::npos ||
                    frame.function.find("log_softmax") != std::string::npos;
    return it->second;
  }

  void Change(std::size_t begin, std::size_t end) {
    const Block* softmax = LogSoftmax(begin, end);
    if (softmax == nullptr) return;
    const Block* first = nullptr;     // the logits
    const Block* gradient = nullptr;  // of the logits
    for (std::size_t i = begin; i < end; ++i) {
      const Block& block = blocks_[i];
      if (!SameSize(block.bytes, softmax->bytes)) continue;
      const bool forward = block.part == Part::kForward && block.death > softmax->birth &&
                           block.birth <= softmax->death;
      if (!forward && block.part != Part::kBackward) continue;
      if (forward && first == nullptr) first = &block;
      if (!forward) gradient = &block;
      of_pass_.push_back(&block);
    }
    if (first != nullptr && gradient != nullptr) {
      first = Narrow(begin, end, *first, Part::kForward);
      gradient = Narrow(begin, end, *gradient, Part::kBackward);
      Replace(begin, end, *first, *gradient);
    }
    of_pass_.clear();
  }

  // What `wide` is a copy of, if the loss is computed in a type of twice the size: logits that are
  // there when their copy is made, or the gradient that is made of the copy's. Else `wide`.
  const Block* Narrow(std::size_t begin, std::size_t end, const Block& wide, Part part) {
    for (std::size_t i = begin; i < end; ++i) {
      const Block& block = blocks_[i];
      if (block.part != part || !SameSize(2 * block.bytes, wide.bytes, 2 * kSlack)) continue;
      const Block& before = part == Part::kForward ? block : wide;
      const Block& after = part == Part::kForward ? wide : block;
      if (before.birth >= after.birth || before.death <= after.birth) continue;
      of_pass_.push_back(&block);
      return &block;
    }
    return &wide;
  }

  void Replace(std::size_t begin, std::size_t end, const Block& first, const Block& gradient) {
    // The gradients of the head's weight and of its input are made from that of the logits.
    std::vector<const Block*> made;
    std::uint64_t hidden = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Block& block = blocks_[i];
      if (block.birth <= gradient.birth || block.birth >= gradient.death ||
          block.category == Category::kWorkspaces || IsOfLoss(block))
        continue;
      made.push_back(&block);
      if (block.category != Category::kGradients) hidden = std::max(hidden, block.bytes);
    }
    if (hidden == 0) return;
    BlockChanges& changes = remedy_.changes;
    for (const Block* block : of_pass_) {
      changes.gone.push_back(block->id);
      at_peak_ |= input_.training.LiveAtPeak(*block);
    }
    for (const Block* block : made) {
      changes.gone.push_back(block->id);
      changes.added.push_back({first.birth, block->death, block->bytes, block->id});
    }
    const std::uint64_t piece = PieceBytes(first.bytes, hidden);
    changes.added.push_back({first.birth, After(first.birth), kPieces * piece, AllocationId()});
  }

  bool IsOfLoss(const Block& block) const {
    return std::find(of_pass_.begin(), of_pass_.end(), &block) != of_pass_.end();
  }

  const Input& input_;
  const std::vector<Block>& blocks_;
  PeakRemedy remedy_{.kind = RemedyOfPeak::kChunkedLoss, .predicts = true};
  bool at_peak_ = false;
  std::vector<const Block*> of_pass_;
  std::map<StackId, bool> is_log_softmax_;
};

}  // namespace

void FindLossRemedies(const Input& input, Found* found) { Losses(input).Find(found); }

}  // namespace memprof::analysis::remedies
