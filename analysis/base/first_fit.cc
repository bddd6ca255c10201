// Places ranges one after the other, each at the lowest place where it fits.
#include "analysis/base/first_fit.h"

#include <algorithm>

namespace memprof::analysis {

FirstFit::FirstFit() {
  chunks_.push_back(std::make_unique<Chunk>());
  chunks_[0]->count = 1;
  chunks_[0]->low[0] = 0;
  chunks_[0]->size[0] = kEnd;
  largest_ = {kEnd};
  first_ = {0};
}

std::size_t FirstFit::holes() const {
  std::size_t sum = 0;
  for (const auto& chunk : chunks_) sum += static_cast<std::size_t>(chunk->count);
  return sum;
}

void FirstFit::FindLargest(std::size_t chunk) {
  const Chunk& c = *chunks_[chunk];
  largest_[chunk] = *std::max_element(c.size.begin(), c.size.begin() + c.count);
}

std::uint32_t FirstFit::Take(std::uint32_t size) {
  std::size_t chunk = 0;
  while (chunk < largest_.size() && largest_[chunk] < size) ++chunk;
  if (chunk == largest_.size()) return kEnd;
  Chunk& c = *chunks_[chunk];
  int at = 0;
  while (c.size[static_cast<std::size_t>(at)] < size) ++at;
  const auto i = static_cast<std::size_t>(at);
  const std::uint32_t low = c.low[i];
  const std::uint32_t before = c.size[i];
  if (before == size) {
    Erase(chunk, at);
  } else {
    c.low[i] += size;
    c.size[i] -= size;
    if (at == 0) first_[chunk] = c.low[i];
    if (before == largest_[chunk]) FindLargest(chunk);
  }
  height_ = std::max(height_, low + size);
  return low;
}

void FirstFit::Give(std::uint32_t low, std::uint32_t size) {
  if (chunks_.empty()) {  // there were no holes
    chunks_.push_back(std::make_unique<Chunk>());
    first_ = {low};
    largest_ = {0};
    Insert(0, 0, low, size);
    return;
  }
  // The chunk of the last hole below, and the first hole above in it or in the next one.
  std::size_t chunk = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), low) -
                                               first_.begin());
  if (chunk > 0) --chunk;
  Chunk& c = *chunks_[chunk];
  const auto above = static_cast<int>(
      std::upper_bound(c.low.begin(), c.low.begin() + c.count, low) - c.low.begin());
  const auto next = static_cast<std::size_t>(above);
  // The hole above may be the first of the next chunk; then it is joined there.
  const bool in_next = above == c.count && chunk + 1 < chunks_.size();
  const bool joins_below = above > 0 && c.low[next - 1] + c.size[next - 1] == low;
  if (in_next && first_[chunk + 1] == low + size) {
    if (joins_below) {
      low = c.low[next - 1];
      size += c.size[next - 1];
    }
    Chunk& n = *chunks_[chunk + 1];
    n.low[0] = low;
    n.size[0] += size;
    first_[chunk + 1] = low;
    largest_[chunk + 1] = std::max(largest_[chunk + 1], n.size[0]);
    if (joins_below) Erase(chunk, above - 1);
    return;
  }
  const bool joins_above = above < c.count && low + size == c.low[next];
  if (joins_below) {
    c.size[next - 1] += size;
    if (joins_above) c.size[next - 1] += c.size[next];
    largest_[chunk] = std::max(largest_[chunk], c.size[next - 1]);
    if (joins_above) Erase(chunk, above);
  } else if (joins_above) {
    c.low[next] = low;
    c.size[next] += size;
    if (above == 0) first_[chunk] = low;
    largest_[chunk] = std::max(largest_[chunk], c.size[next]);
  } else {
    Insert(chunk, above, low, size);
  }
}

void FirstFit::Insert(std::size_t chunk, int at, std::uint32_t low, std::uint32_t size) {
  if (chunks_[chunk]->count == kMax) {
    Split(chunk);
    const int left = chunks_[chunk]->count;
    if (at > left) {
      ++chunk;
      at -= left;
    }
  }
  Chunk& c = *chunks_[chunk];
  std::copy_backward(c.low.begin() + at, c.low.begin() + c.count, c.low.begin() + c.count + 1);
  std::copy_backward(c.size.begin() + at, c.size.begin() + c.count, c.size.begin() + c.count + 1);
  c.low[static_cast<std::size_t>(at)] = low;
  c.size[static_cast<std::size_t>(at)] = size;
  ++c.count;
  first_[chunk] = c.low[0];
  largest_[chunk] = std::max(largest_[chunk], size);
}

void FirstFit::Erase(std::size_t chunk, int at) {
  Chunk& c = *chunks_[chunk];
  const std::uint32_t size = c.size[static_cast<std::size_t>(at)];
  std::copy(c.low.begin() + at + 1, c.low.begin() + c.count, c.low.begin() + at);
  std::copy(c.size.begin() + at + 1, c.size.begin() + c.count, c.size.begin() + at);
  if (--c.count == 0) {
    const auto place = static_cast<std::ptrdiff_t>(chunk);
    chunks_.erase(chunks_.begin() + place);
    largest_.erase(largest_.begin() + place);
    first_.erase(first_.begin() + place);
    return;
  }
  first_[chunk] = c.low[0];
  if (size >= largest_[chunk]) FindLargest(chunk);
}

void FirstFit::Split(std::size_t chunk) {
  Chunk& c = *chunks_[chunk];
  auto upper = std::make_unique<Chunk>();
  const int left = c.count / 2;
  upper->count = c.count - left;
  std::copy(c.low.begin() + left, c.low.begin() + c.count, upper->low.begin());
  std::copy(c.size.begin() + left, c.size.begin() + c.count, upper->size.begin());
  c.count = left;
  const auto place = static_cast<std::ptrdiff_t>(chunk) + 1;
  first_.insert(first_.begin() + place, upper->low[0]);
  largest_.insert(largest_.begin() + place, 0);
  chunks_.insert(chunks_.begin() + place, std::move(upper));
  FindLargest(chunk);
  FindLargest(chunk + 1);
}

}  // namespace memprof::analysis
