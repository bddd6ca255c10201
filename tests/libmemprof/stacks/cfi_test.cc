// Frame rules against elfutils, which reads the same tables, for every library loaded here.
#include "libmemprof/src/stacks/internal/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <libelf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace memprof::recorder {
namespace {

struct Module {
  std::string path;
  std::uint64_t bias = 0;
  CallFrameTable table;
  std::uint64_t code_begin = 0;
  std::uint64_t code_end = 0;
};

int Collect(dl_phdr_info* info, std::size_t, void* data) {
  Module module;
  module.path = info->dlpi_name;
  module.bias = info->dlpi_addr;
  if (module.path.empty()) module.path = "/proc/self/exe";
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uint64_t first = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME)
      module.table.header = reinterpret_cast<const unsigned char*>(first);
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, first);
    end = std::max(end, first + segment.p_memsz);
    if ((segment.p_flags & PF_X) != 0 && module.code_end == 0) {
      module.code_begin = first;
      module.code_end = first + segment.p_memsz;
    }
  }
  module.table.begin = reinterpret_cast<const unsigned char*>(begin);
  module.table.end = reinterpret_cast<const unsigned char*>(end);
  if (module.table.header != nullptr) static_cast<std::vector<Module>*>(data)->push_back(module);
  return 0;
}

std::vector<Module> LoadedModules() {
  std::vector<Module> modules;
  dl_iterate_phdr(Collect, &modules);
  return modules;
}

// The call-frame table of a file, read by elfutils.
class Reference {
 public:
  explicit Reference(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    elf_ = elf_begin(fd_, ELF_C_READ_MMAP, nullptr);
    cfi_ = dwarf_getcfi_elf(elf_);
  }
  ~Reference() {
    if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
    elf_end(elf_);
    close(fd_);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  bool usable() const { return cfi_ != nullptr; }

  // The expected rule; no value where elfutils finds no row or a signal frame.
  std::optional<FrameRule> Rule(std::uint64_t address) const;

 private:
  static bool SetCfa(const Dwarf_Op* ops, std::size_t count, FrameRule* rule);
  static void SetFp(const Dwarf_Op* ops, std::size_t count, const Dwarf_Op* storage,
                    FrameRule* rule);
  static bool SetPair(std::int64_t at, FrameRule* rule);

  int fd_;
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
};

bool FitsWords(std::int64_t bytes, int bits, int unit = 1) {
  const std::int64_t most = std::int64_t{8} * unit << (bits - 1);
  return bytes % (8 * unit) == 0 && bytes >= -most && bytes < most;
}

// "CFA + N", which elfutils states for a register that is saved there.
std::optional<std::int64_t> OffsetFromCfa(const Dwarf_Op* ops, std::size_t count) {
  if (count == 0 || ops[0].atom != DW_OP_call_frame_cfa) return std::nullopt;
  if (count == 1) return 0;
  if (count != 2 || ops[1].atom != DW_OP_plus_uconst) return std::nullopt;
  return static_cast<std::int64_t>(ops[1].number);
}

bool Reference::SetCfa(const Dwarf_Op* ops, std::size_t count, FrameRule* rule) {
  std::int64_t reg = -1, offset = 0;
  if (count >= 1 && ops[0].atom == DW_OP_bregx) {
    reg = static_cast<std::int64_t>(ops[0].number);
    offset = static_cast<std::int64_t>(ops[0].number2);
  } else if (count >= 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
    reg = ops[0].atom - DW_OP_breg0;
    offset = static_cast<std::int64_t>(ops[0].number);
  }
  constexpr std::int64_t kFp = arch::kDwarfFramePointer, kSp = arch::kDwarfStackPointer;
  if ((reg != kFp && reg != kSp) || !FitsWords(offset, arch::kFrameCfaBits, arch::kFrameCfaUnit))
    return false;
  if (count == 1)
    rule->base = reg == kSp ? CfaBase::kStackPointer : CfaBase::kFramePointer;
  else if (count == 2 && reg == kFp && ops[1].atom == DW_OP_deref)
    rule->base = CfaBase::kLoadFromFrame;
  else
    return false;
  rule->cfa_words = static_cast<std::int16_t>(offset / 8);
  return true;
}

void Reference::SetFp(const Dwarf_Op* ops, std::size_t count, const Dwarf_Op* storage,
                      FrameRule* rule) {
  rule->fp = SavedFp::kUnusable;
  if (count == 0) {
    rule->fp = ops == storage ? SavedFp::kUnusable : SavedFp::kSame;
    return;
  }
  SavedFp kind = SavedFp::kAtCfa;
  std::optional<std::int64_t> offset = OffsetFromCfa(ops, count);
  // elfutils states an expression with the CFA first: "call_frame_cfa; breg6 N" is breg6 N.
  const std::size_t last = count - 1;
  if (!offset && ops[last].atom == arch::kDwarfBregFramePointer &&
      (last == 0 || (last == 1 && ops[0].atom == DW_OP_call_frame_cfa))) {
    kind = SavedFp::kAtFrame;
    offset = static_cast<std::int64_t>(ops[last].number);
  }
  if (!offset || !FitsWords(*offset, arch::kFrameSavedBits)) return;
  rule->fp = kind;
  rule->saved_words = static_cast<std::int16_t>(*offset / 8);
}

// Of a function that stores its return address at CFA + `at`: the frame pointer is stored below it,
// or not at all.
bool Reference::SetPair(std::int64_t at, FrameRule* rule) {
  if (rule->fp == SavedFp::kAtCfa && rule->saved_words * 8 + 8 == at) return true;
  if (rule->fp != SavedFp::kSame) rule->fp = SavedFp::kUnusable;
  rule->saved_words = static_cast<std::int16_t>(at / 8);
  return FitsWords(at, arch::kFrameSavedBits);
}

std::optional<FrameRule> Reference::Rule(std::uint64_t address) const {
  Dwarf_Frame* frame = nullptr;
  if (dwarf_cfi_addrframe(cfi_, address, &frame) != 0) return std::nullopt;
  FrameRule rule;
  bool signal = false;
  const bool has_info = dwarf_frame_info(frame, nullptr, nullptr, &signal) >= 0;
  Dwarf_Op* ops = nullptr;
  Dwarf_Op storage[3];
  std::size_t count = 0;
  bool usable = has_info && !signal;
  std::optional<std::int64_t> return_address;
  if (usable &&
      dwarf_frame_register(frame, arch::kDwarfReturnAddress, storage, &ops, &count) == 0) {
    if (count == 0 && ops == storage) {
      rule.base = CfaBase::kOutermost;
      free(frame);
      return rule;
    }
    return_address = OffsetFromCfa(ops, count);
    usable = arch::kCallPushesReturnAddress ? return_address == -8 : return_address.has_value();
  }
  if (usable && dwarf_frame_cfa(frame, &ops, &count) == 0 && SetCfa(ops, count, &rule)) {
    if (dwarf_frame_register(frame, arch::kDwarfFramePointer, storage, &ops, &count) == 0)
      SetFp(ops, count, storage, &rule);
    if (!arch::kCallPushesReturnAddress && !SetPair(*return_address, &rule)) rule = {};
  } else {
    rule = {};
  }
  free(frame);
  return rule;
}

std::string Describe(const FrameRule& rule) {
  return "base " + std::to_string(static_cast<int>(rule.base)) + " cfa " +
         std::to_string(rule.cfa_words) + " fp " + std::to_string(static_cast<int>(rule.fp)) +
         " at " + std::to_string(rule.saved_words);
}

TEST(FrameRule, PacksAndUnpacks) {
  constexpr int kMostUnits = (1 << (arch::kFrameCfaBits - 1)) - 1;
  constexpr int kMostSaved = (1 << (arch::kFrameSavedBits - 1)) - 1;
  for (int base = 0; base <= 4; ++base)
    for (int fp = 0; fp <= 3; ++fp)
      for (int cfa : {-kMostUnits - 1, -1, 0, 1, kMostUnits})
        for (int at : {-kMostSaved - 1, -2, 0, 5, kMostSaved}) {
          const FrameRule rule{static_cast<CfaBase>(base), static_cast<SavedFp>(fp),
                               static_cast<std::int16_t>(cfa * arch::kFrameCfaUnit),
                               static_cast<std::int16_t>(at)};
          ASSERT_EQ(FrameRule::Unpack(rule.Pack()), rule);
          ASSERT_LT(rule.Pack(), 1u << 31) << "the cache uses the top bit itself";
        }
}

// Every module of this process, at thousands of random places in its code.
TEST(CallFrames, AgreeWithElfutils) {
  constexpr int kPlaces = 20000;
  std::mt19937_64 random(1);
  int compared = 0, usable_rules = 0, modules_compared = 0, by_frame_pointer = 0;
  for (const Module& module : LoadedModules()) {
    if (module.path.find("linux-vdso") != std::string::npos) continue;
    const Reference reference(module.path);
    if (!reference.usable()) continue;
    ++modules_compared;
    int wrong = 0;
    for (int i = 0; i < kPlaces && wrong < 5; ++i) {
      const std::uint64_t address =
          module.code_begin + random() % (module.code_end - module.code_begin);
      const FrameRule ours = ReadFrameRule(module.table, address);
      const std::optional<FrameRule> theirs = reference.Rule(address - module.bias);
      if (!theirs.has_value()) {
        EXPECT_EQ(ours.base, CfaBase::kUnsupported) << module.path;
        continue;
      }
      ++compared;
      usable_rules += ours.base != CfaBase::kUnsupported;
      by_frame_pointer += ours.base == CfaBase::kFramePointer;
      // If the frame cannot be unwound, the rest of the rule does not matter.
      if (ours.base == theirs->base && (ours.base == CfaBase::kUnsupported ||
                                        ours.base == CfaBase::kOutermost || ours == *theirs))
        continue;
      ++wrong;
      ADD_FAILURE() << module.path << " at " << std::hex << address - module.bias << ": ours "
                    << Describe(ours) << ", elfutils " << Describe(*theirs);
    }
  }
  EXPECT_GE(modules_compared, 5);
  EXPECT_GT(compared, 50000);
  EXPECT_GT(by_frame_pointer, 0);
  // A function that has not stored its return address yet is in no walk.
  constexpr int kUsable = arch::kCallPushesReturnAddress ? 95 : 75;
  EXPECT_GT(usable_rules, compared * kUsable / 100) << "of " << compared;
}

// A private copy of a module's tables between two pages that must not be touched.
class GuardedCopy {
 public:
  explicit GuardedCopy(const CallFrameTable& original)
      : bytes_((static_cast<std::size_t>(original.end - original.header) + kPage - 1) / kPage *
               kPage) {
    memory_ = static_cast<unsigned char*>(
        mmap(nullptr, bytes_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + kPage, bytes_, PROT_READ | PROT_WRITE);
    // Up to the end of the mapped tables, right before the inaccessible page.
    const auto used = static_cast<std::size_t>(original.end - original.header);
    begin_ = memory_ + kPage + bytes_ - used;
    std::memcpy(begin_, original.header, used);
    size_ = used;
  }
  ~GuardedCopy() { munmap(memory_, bytes_ + 2 * kPage); }
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;

  unsigned char* bytes() { return begin_; }
  std::size_t size() const { return size_; }
  CallFrameTable Table() const { return {begin_, begin_, begin_ + size_}; }

 private:
  static constexpr std::size_t kPage = 4096;
  std::size_t bytes_;
  unsigned char* memory_;
  unsigned char* begin_;
  std::size_t size_;
};

// Whole tables of libm or another small module, whose header precedes the entries.
std::optional<CallFrameTable> SmallTable() {
  for (const Module& module : LoadedModules()) {
    if (module.path.find("libm.so") == std::string::npos) continue;
    // Readable without a gap: the segment that holds the header.
    CallFrameTable table = module.table;
    table.end = table.header + 24 * 1024;
    return table;
  }
  return std::nullopt;
}

TEST(CallFrames, DamagedTablesAreReadWithinTheirBounds) {
  const std::optional<CallFrameTable> original = SmallTable();
  ASSERT_TRUE(original.has_value());
  std::mt19937_64 random(7);
  GuardedCopy copy(*original);
  const std::vector<unsigned char> intact(copy.bytes(), copy.bytes() + copy.size());
  // Code precedes the tables; offsets are relative to the header, so they are valid in the copy.
  const auto header = reinterpret_cast<std::uint64_t>(copy.bytes());
  int understood = 0;
  for (int round = 0; round < 3000; ++round) {
    std::memcpy(copy.bytes(), intact.data(), intact.size());
    const int flips = static_cast<int>(random() % 20);
    for (int i = 0; i < flips; ++i) {
      // Half of the damage hits the header and the first entries of the search table.
      const std::size_t at = random() % (i % 2 == 0 ? copy.size() : 64);
      copy.bytes()[at] = static_cast<unsigned char>(random());
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t address = header - random() % (1 << 20);
      understood += ReadFrameRule(copy.Table(), address).base != CfaBase::kUnsupported;
    }
  }
  EXPECT_GT(understood, 100) << "at least the undamaged rounds must find rules";
}

TEST(CallFrames, AnEmptyOrForeignTableHasNoRules) {
  const unsigned char zeros[64] = {};
  EXPECT_EQ(ReadFrameRule({zeros, zeros, zeros + sizeof zeros}, 0x1000), FrameRule{});
  EXPECT_EQ(ReadFrameRule({zeros, zeros, zeros}, 0x1000), FrameRule{});
  unsigned char noise[64];
  std::memset(noise, 0xff, sizeof noise);
  EXPECT_EQ(ReadFrameRule({noise, noise, noise + sizeof noise}, 0x1000), FrameRule{});
}

}  // namespace
}  // namespace memprof::recorder
