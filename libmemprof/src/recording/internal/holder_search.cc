// Pass by pass from device memory to the roots.
#include "libmemprof/src/recording/internal/holder_search.h"

#include <stdarg.h>
#include <stdio.h>

#include <algorithm>
#include <bit>

namespace memprof::recorder {
namespace {

constexpr std::size_t kMostWords = std::size_t{1} << 19, kFewWords = std::size_t{1} << 16;
constexpr std::size_t kMostChunks = std::size_t{1} << 16;  // as many as malloc maps on its own
constexpr std::uint32_t kWordsOfTarget = 16, kWordsOfBlock = 64;
constexpr std::size_t kTextBytes = 16384;
// The last word of a block's memory is also malloc's, whose lists point to it.
constexpr std::uint64_t kShared = 8;

constexpr char kFewTargets[] = "holders were looked for of the 20,000 largest allocations only";
constexpr char kNoTime[] = "the time did not suffice to find all holders";
constexpr char kManyWords[] = "there are more pointers than were looked at: holders may be missing";

constexpr std::uint8_t kNoClass = HolderGraph::kClasses;

int ClassOf(Spot::Kind kind) {
  if (kind == Spot::Kind::kGlobal || kind == Spot::Kind::kThreadLocal) return 0;
  return kind == Spot::Kind::kStack ? 1 : 2;
}

}  // namespace

HolderSearch::HolderSearch(ScanTarget* targets, std::size_t count, std::uint64_t deadline_ns)
    : targets_(targets),
      deadline_ns_(deadline_ns),
      words_(kMostWords, kFewWords),
      chunks_(kMostChunks),
      text_(kTextBytes),
      map_(deadline_ns) {
  if (count <= kMostTargets) return;
  const OwnArray<std::uint32_t> order(count);
  if (order.get() == nullptr) {
    for (std::size_t i = kMostTargets; i < count; ++i) targets[i].unfollowed = 1;
  } else {
    for (std::size_t i = 0; i < count; ++i) order.get()[i] = static_cast<std::uint32_t>(i);
    std::nth_element(
        order.get(), order.get() + kMostTargets, order.get() + count,
        [&](std::uint32_t a, std::uint32_t b) {
          return targets[a].bytes != targets[b].bytes ? targets[a].bytes > targets[b].bytes : a < b;
        });
    for (std::size_t i = kMostTargets; i < count; ++i) targets[order.get()[i]].unfollowed = 1;
  }
  shortfall_ = kFewTargets;
}

PassNotes* HolderSearch::notes() {
  if (words_.get() == nullptr || chunks_.get() == nullptr || text_.get() == nullptr) {
    shortfall_ = kNoMemory;
    return nullptr;
  }
  notes_ = {words_.get(), words_.size(), 0, kWordsOfTarget, false, chunks_.get(), kMostChunks, 0};
  return &notes_;
}

// Takes the words of a pass: `nodes` has the node of each target; null for device memory. False if
// there was no time for it.
bool HolderSearch::Classify(const std::uint32_t* nodes) {
  const auto first_new = static_cast<std::uint32_t>(graph_.size());
  if (notes_.words_left_out) shortfall_ = kManyWords;
  map_.Forget();
  for (std::size_t i = 0; i < notes_.words_count; ++i) {
    const PointerWord& word = notes_.words[i];
    if (nodes == nullptr && targets_[word.target].unfollowed != 0) continue;
    const Spot spot = map_.Find(word.at);
    if (spot.kind == Spot::Kind::kNothing) continue;
    if (spot.kind == Spot::Kind::kDriver) {
      if (nodes != nullptr) graph_.SetDrivers(nodes[word.target]);
      continue;
    }
    if (spot.kind == Spot::Kind::kBlock) {
      const std::uint32_t node = graph_.NodeOf(spot.block.begin, spot.block.bytes);
      if (node == HolderGraph::kNone)
        shortfall_ = kManyWords;
      else if (nodes == nullptr)
        held_.Append({word.target, node, HolderGraph::kNone,
                      static_cast<std::uint32_t>(word.at - spot.block.begin), 0, 0,
                      word.may_be_half});
      else
        graph_.AddEdge(node, nodes[word.target], first_new);
      continue;
    }
    const auto root = static_cast<std::uint32_t>(roots_.size());
    const int of_class = ClassOf(spot.kind);
    if (nodes == nullptr && word.may_be_half && of_class != 0) continue;
    if (!roots_.Append({spot.kind, spot.number, spot.module, spot.offset})) continue;
    if (nodes == nullptr)
      held_.Append({word.target, HolderGraph::kNone, root, 0, 0,
                    static_cast<std::uint8_t>(of_class), false});
    else
      graph_.AddRoot(nodes[word.target], root, of_class);
  }
  if (!map_.late()) return true;
  shortfall_ = kNoTime;
  return false;
}

// Whether each target that has a holder has one of the first class. `held_` is sorted.
bool HolderSearch::AllSettled() {
  for (std::size_t i = 0; i < held_.size(); ++i)
    if ((i == 0 || held_[i].target != held_[i - 1].target) && held_[i].of_class != 0) return false;
  return true;
}

// Takes the way from words that may be half of a pointer, unless two others are in the same block
// or at the same place of its like.
void HolderSearch::DropHalves() {
  const auto in_block = [](const Held& held) { return Mix(Mix(held.node), held.root); };
  const auto in_alike = [&](const Held& held) {
    return Mix(Mix(Mix(graph_.node(held.node).alike), held.root), held.offset);
  };
  ways_.Clear();
  for (const Held& held : held_) {
    if (held.node == HolderGraph::kNone || held.of_class == kNoClass || held.may_be_half) continue;
    ways_.Append(in_block(held));
    ways_.Append(in_alike(held));
  }
  std::sort(ways_.begin(), ways_.end());
  const auto is_common = [&](std::uint64_t way) {
    const auto [first, last] = std::equal_range(ways_.begin(), ways_.end(), way);
    return last - first >= 2;
  };
  for (Held& held : held_)
    if (held.may_be_half && !is_common(in_block(held)) && !is_common(in_alike(held)))
      held.of_class = kNoClass;
}

// By target; the best holders first, those without a way last.
void HolderSearch::SortHeld() {
  for (Held& held : held_) {
    if (held.node == HolderGraph::kNone) continue;
    const HolderGraph::Node& node = graph_.node(held.node);
    held.of_class = node.root == HolderGraph::kNone ? kNoClass : node.of_class;
    held.length = node.length;
    held.root = node.root;
  }
  if (std::any_of(held_.begin(), held_.end(), [](const Held& held) { return held.may_be_half; }))
    DropHalves();
  std::sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) {
    if (a.target != b.target) return a.target < b.target;
    if (a.of_class != b.of_class) return a.of_class < b.of_class;
    if (a.length != b.length) return a.length < b.length;
    return a.root != b.root ? a.root < b.root : a.node < b.node;
  });
}

// Looks for what points to the nodes from `first` on that have no way yet. False if there are none,
// or no time or memory.
bool HolderSearch::FindNext(std::size_t first) {
  MappedArray<std::uint32_t> nodes;
  for (std::size_t i = first; i < graph_.size(); ++i) {
    const HolderGraph::Node& node = graph_.node(static_cast<std::uint32_t>(i));
    if (node.root == HolderGraph::kNone && !node.drivers &&
        !nodes.Append(static_cast<std::uint32_t>(i)))
      return false;
  }
  if (nodes.empty()) return false;
  std::sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
    return graph_.node(a).begin < graph_.node(b).begin;
  });
  const OwnArray<ScanTarget> blocks(nodes.size());
  if (blocks.get() == nullptr) {
    shortfall_ = kNoMemory;
    return false;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const HolderGraph::Node& node = graph_.node(nodes[i]);
    blocks.get()[i] = {node.begin, node.bytes - kShared, 0, 0, 0, 0, 0};
  }
  notes_ = {words_.get(), words_.size(), 0, kWordsOfBlock, false, nullptr, 0, 0};
  if (!CountReferences(blocks.get(), nodes.size(), deadline_ns_, &notes_).complete) {
    shortfall_ = kNoTime;
    return false;
  }
  return Classify(nodes.data());
}

void HolderSearch::Follow(std::uint64_t frame) {
  if (notes_.words == nullptr) return;
  if (!map_.Read(frame, notes_.chunks, notes_.chunks_count)) {
    shortfall_ = kNoMemory;
    return;
  }
  Classify(nullptr);
  SortHeld();
  std::size_t first = 0;
  for (int level = 0; level < kMostLevels && !AllSettled(); ++level) {
    const std::size_t known = graph_.size();
    const bool found = FindNext(first);
    if (!graph_.Resolve()) {
      shortfall_ = kNoMemory;
      held_.Clear();
    }
    SortHeld();
    if (!found) break;
    first = known;
  }
  if (map_.late()) held_.Clear();  // what was read last may be wrong
}

void HolderSearch::Write(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::size_t room = kTextBytes - text_bytes_;
  const int got = vsnprintf(text_.get() + text_bytes_, room, format, arguments);
  va_end(arguments);
  if (got > 0) text_bytes_ += std::min(static_cast<std::size_t>(got), room - 1);
}

// As readers write sizes.
void HolderSearch::WriteBytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  const int unit = std::min((static_cast<int>(std::bit_width(bytes)) - 1) / 10, 4);
  const std::uint64_t rest = bytes & ((std::uint64_t{1} << (10 * unit)) - 1);
  const std::uint64_t tenths = (bytes >> (10 * unit)) * 10 + (rest * 10 >> (10 * unit));
  Write("%llu", static_cast<unsigned long long>(tenths / 10));
  if (tenths % 10 != 0) Write(".%u", static_cast<unsigned>(tenths % 10));
  Write(" %s", kUnits[unit]);
}

void HolderSearch::WriteBlock(std::uint64_t bytes) {
  Write(graph_.IsRun(bytes) ? "heap blocks of " : "heap block of ");
  WriteBytes(bytes);
}

void HolderSearch::WriteRoot(const Root& root) {
  switch (root.kind) {
    case Spot::Kind::kGlobal:
      return Write("global of %s", map_.modules().PathOf(*root.module));
    case Spot::Kind::kThreadLocal:
      if (root.module == nullptr) return Write("thread-local memory");
      return Write("thread-local variable of %s", map_.modules().PathOf(*root.module));
    case Spot::Kind::kStack:
      if (root.number == static_cast<std::uint32_t>(getpid()))
        return Write("stack of the main thread");
      return Write("stack of thread %u", root.number);
    case Spot::Kind::kFile:
      return Write("mapping of %s", map_.PathOf(root.number));
    case Spot::Kind::kHeap:
      return Write("heap");
    default:
      Write("anonymous mapping of ");
      return WriteBytes(map_.BytesOf(root.number));
  }
}

// The label: the whole way from the memory to the root, then the root, then the blocks from the
// root on. False if `held` is of a later class than the target's best holder.
bool HolderSearch::Describe(const Held& held, const Held& best, Holder* holder) {
  if (held.of_class != best.of_class || held.of_class == kNoClass) return false;
  std::uint64_t blocks[2 * kMostLevels];  // without repetitions, from the memory on
  int count = 0;
  for (std::uint32_t at = held.node; at != HolderGraph::kNone; at = graph_.node(at).before) {
    const std::uint64_t bytes = graph_.node(at).alike;
    if (count > 0 && blocks[count - 1] == bytes) continue;
    if (count == 2 * kMostLevels) break;
    blocks[count++] = bytes;
  }
  const Root& root = roots_[held.root];
  text_bytes_ = 0;
  for (int i = 0; i < count; ++i) {
    WriteBlock(blocks[i]);
    Write(", in ");
  }
  WriteRoot(root);
  Write("\n");
  WriteRoot(root);
  for (int i = count; i-- > 0;) {
    Write("\n");
    WriteBlock(blocks[i]);
  }
  holder->label_bytes = text_bytes_;
  holder->symbol = root.module == nullptr ? 0 : root.offset + 1;
  return true;
}

}  // namespace memprof::recorder
