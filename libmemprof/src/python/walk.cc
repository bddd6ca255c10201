// Steps from frame to frame.
#include "libmemprof/src/python/walk.h"

#include "libmemprof/src/base/checked_memory.h"
#include "libmemprof/src/base/hash.h"

namespace memprof::recorder {
namespace {

// Sanitizers must not check the interpreter's objects.
#define MEMPROF_FOREIGN __attribute__((no_sanitize("address", "thread", "undefined")))

// For memory that is known to be mapped.
struct Trusting {
  template <typename Value>
  MEMPROF_FOREIGN static Value Load(std::uint64_t address, bool*) {
    return *reinterpret_cast<const volatile Value*>(address);
  }
};
// Memory that is not mapped reads as 0.
struct Checking {
  template <typename Value>
  static Value Load(std::uint64_t address, bool* sound) {
    Value value{};
    if (!ReadChecked(address, &value)) *sound = false;
    return value;
  }
};

// Of which code the tables are read as well: they take several cache lines a frame.
enum class Tables : bool { kOfNoFile, kAll };

constexpr std::uint64_t kTagBits = 3;  // of references to objects, from 3.14 on

template <typename Memory>
class Walker {
 public:
  Walker(const PythonLayout& layout, std::uint64_t thread_state, PythonStack* stack)
      : layout_(layout), thread_(thread_state), stack_(stack) {}

  void Run();
  std::uint64_t Fingerprint(std::uint64_t code, std::uint64_t instruction, Tables tables);

 private:
  template <typename Value>
  Value Load(std::uint64_t address) {
    return Memory::template Load<Value>(address, &sound_);
  }
  // The pointer at `address`. If its value cannot be the address of an object, returns 0 and marks
  // the stack as not sound.
  std::uint64_t Pointer(std::uint64_t address) {
    const auto pointer = Load<std::uint64_t>(address);
    if (pointer == 0 || MayBeObject(pointer)) return pointer;
    sound_ = false;
    return 0;
  }
  bool Room() {
    if (count_ < PythonStack::kMaxFrames) return true;
    stack_->cut = true;
    return false;
  }
  bool Add(std::uint64_t code, std::uint64_t instruction, std::uint64_t loop) {
    if (!MayBeObject(code)) {
      sound_ = false;
      return false;
    }
    stack_->frames[count_++] = {code, instruction, loop};
    hash_ = Mix(hash_, Fingerprint(code, instruction, Tables::kOfNoFile) + loop);
    return true;
  }
  // Code that is from no file ("<string>") is often freed, and similar code allocated at its
  // address.
  bool IsLasting(std::uint64_t file) {
    return !MayBeObject(file) || Load<char>(file + layout_.text_ascii_header) != '<';
  }
  std::uint64_t MixTable(std::uint64_t table, bool lasting, std::uint64_t hash);
  void Objects();
  void Entries();
  void Shims();

  const PythonLayout& layout_;
  const std::uint64_t thread_;
  PythonStack* stack_;
  int count_ = 0;
  bool sound_ = true;
  std::uint64_t hash_ = kHashSeed;
};

// Hashes a table's length and some of its words; all words if the code is from no file.
template <typename Memory>
std::uint64_t Walker<Memory>::MixTable(std::uint64_t table, bool lasting, std::uint64_t hash) {
  constexpr std::uint64_t kFewWords = 8, kManyWords = 512;
  const std::uint64_t most = lasting ? kFewWords : kManyWords;
  const auto bytes = Load<std::uint64_t>(table + layout_.bytes_size);
  hash = Mix(hash, bytes);
  if (bytes == 0 || bytes > (std::uint64_t{1} << 32)) return hash;
  const std::uint64_t first = table + layout_.bytes_data;
  const std::uint64_t words = bytes / 8;
  const std::uint64_t step = words <= most ? 1 : words / most;
  for (std::uint64_t i = 0; i < words; i += step)
    hash = Mix(hash, Load<std::uint64_t>(first + 8 * i));
  if (words > 0) return Mix(hash, Load<std::uint64_t>(first + bytes - 8));
  // Bytes objects end with a zero, and their blocks are multiples of 8 bytes: the word can be read.
  const std::uint64_t mask = (std::uint64_t{1} << 8 * bytes) - 1;
  return Mix(hash, Load<std::uint64_t>(first) & mask);
}

template <typename Memory>
std::uint64_t Walker<Memory>::Fingerprint(std::uint64_t code, std::uint64_t instruction,
                                          Tables tables) {
  std::uint64_t hash = Mix(code * 0xd1342543de82ef95u, instruction);
  const auto table = Load<std::uint64_t>(code + layout_.code_line_table);
  const std::uint32_t version =
      layout_.code_version == 0 ? 0 : Load<std::uint32_t>(code + layout_.code_version);
  // Small numbers are spread, so that they do not look like addresses.
  if (version != 0) return Mix(hash, table ^ version * kHashSeed);
  hash = Mix(hash, Load<std::uint32_t>(code + layout_.code_first_line) * kHashSeed ^ table);
  const auto file = Load<std::uint64_t>(code + layout_.code_file);
  hash = Mix(hash, file ^ Load<std::uint64_t>(code + layout_.code_name) << 16);
  const bool lasting = IsLasting(file);
  if ((lasting && tables == Tables::kOfNoFile) || !MayBeObject(table)) return hash;
  return MixTable(table, lasting, hash);
}

template <typename Memory>
void Walker<Memory>::Objects() {
  std::uint64_t loop = layout_.thread_loop == 0 ? 0 : Pointer(thread_ + layout_.thread_loop);
  std::uint64_t frame = Pointer(thread_ + layout_.thread_frame);
  for (; frame != 0 && Room(); frame = Pointer(frame + layout_.frame_previous)) {
    const std::int64_t index = Load<std::int32_t>(frame + layout_.frame_instruction);
    const auto instruction = static_cast<std::uint64_t>(index * layout_.instruction_scale);
    if (!Add(Load<std::uint64_t>(frame + layout_.frame_code), instruction, loop)) return;
    if (loop != 0) loop = Pointer(loop + layout_.loop_previous);
  }
}

template <typename Memory>
void Walker<Memory>::Entries() {
  std::uint64_t loop = Pointer(thread_ + layout_.thread_loop);
  if (loop == 0) return;
  std::uint64_t frame = Pointer(loop + layout_.loop_frame);
  for (; frame != 0 && Room(); frame = Pointer(frame + layout_.frame_previous)) {
    if (!Add(Load<std::uint64_t>(frame + layout_.frame_code),
             Load<std::uint64_t>(frame + layout_.frame_instruction), loop))
      return;
    if (Load<std::uint8_t>(frame + layout_.frame_mark) != 0 && loop != 0)
      loop = Pointer(loop + layout_.loop_previous);
  }
}

template <typename Memory>
void Walker<Memory>::Shims() {
  std::uint64_t at = thread_ + layout_.thread_frame;
  if (layout_.by_loop) {
    const std::uint64_t loop = Pointer(thread_ + layout_.thread_loop);
    if (loop == 0) return;
    at = loop + layout_.loop_frame;
  }
  int first = 0;  // of the loop
  int steps = 0;
  std::uint64_t frame = Pointer(at);
  for (; frame != 0 && Room(); frame = Pointer(frame + layout_.frame_previous)) {
    if (++steps > 2 * PythonStack::kMaxFrames) return;
    const auto owner = Load<std::uint8_t>(frame + layout_.frame_mark);
    if (owner == kOwnerOfShim) {
      for (; first < count_; ++first) stack_->frames[first].loop = frame;
      hash_ = Mix(hash_, frame);
    } else if (owner != kOwnerCStack) {
      if (!Add(Load<std::uint64_t>(frame + layout_.frame_code) & ~kTagBits,
               Load<std::uint64_t>(frame + layout_.frame_instruction), 0))
        return;
    }
  }
}

template <typename Memory>
void Walker<Memory>::Run() {
  stack_->cut = false;
  switch (layout_.chain) {
    case FrameChain::kObjects:
      Objects();
      break;
    case FrameChain::kEntries:
      Entries();
      break;
    case FrameChain::kShims:
      Shims();
      break;
  }
  stack_->count = count_;
  stack_->hash = hash_;
  stack_->sound = sound_;
}

}  // namespace

std::uint64_t FingerprintOf(const PythonLayout& layout, std::uint64_t code,
                            std::uint64_t instruction) {
  return Walker<Trusting>(layout, 0, nullptr).Fingerprint(code, instruction, Tables::kAll);
}

std::uint64_t FingerprintOf(const PythonLayout& layout, const PythonStack& stack) {
  std::uint64_t hash = kHashSeed;
  if (layout.code_version != 0) return hash;  // the stack's own hash has all
  for (int i = 0; i < stack.count; ++i)
    hash = Mix(hash, FingerprintOf(layout, stack.frames[i].code, stack.frames[i].instruction));
  return hash;
}

void WalkPython(const PythonLayout& layout, std::uint64_t thread_state, PythonStack* stack) {
  Walker<Trusting>(layout, thread_state, stack).Run();
}

void WalkPythonChecked(const PythonLayout& layout, std::uint64_t thread_state, PythonStack* stack) {
  Walker<Checking>(layout, thread_state, stack).Run();
}

}  // namespace memprof::recorder
