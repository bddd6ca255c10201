// The cache of frame rules returns what the tables contain, and synthetic stacks built from rules
// are walked correctly.
#include "libmemprof/src/stacks/frame_rules.h"

#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "libmemprof/src/stacks/internal/cfi.h"
#include "libmemprof/src/stacks/stack_walk.h"
#include "tests/libmemprof/stacks/new_memo.h"

namespace memprof::recorder {
namespace {

struct Code {
  CallFrameTable table;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Search {
  std::string_view name;  // part of the module's; empty = the program itself
  Code code;
};

int FindModule(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const std::string_view name = info->dlpi_name;
  if (search->name.empty() ? !name.empty() : name.find(search->name) == name.npos) return 0;
  Code* code = &search->code;
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uint64_t first = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME)
      code->table.header = reinterpret_cast<const unsigned char*>(first);
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, first);
    end = std::max(end, first + segment.p_memsz);
    if ((segment.p_flags & PF_X) != 0) {
      code->begin = first;
      code->end = first + segment.p_memsz;
    }
  }
  code->table.begin = reinterpret_cast<const unsigned char*>(begin);
  code->table.end = reinterpret_cast<const unsigned char*>(end);
  return 1;
}

Code CodeOf(std::string_view name) {
  Search search{name, {}};
  dl_iterate_phdr(FindModule, &search);
  return search.code;
}
Code Libc() { return CodeOf("libc.so"); }

TEST(FrameRules, GiveWhatTheTablesSayAlsoWhereAddressesCollide) {
  const Code libc = Libc();
  ASSERT_NE(libc.table.header, nullptr);
  FrameRules rules;
  ASSERT_TRUE(rules.Create());
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> addresses(200000);  // three times as many as the cache has places
  for (std::uint64_t& address : addresses)
    address = libc.begin + random() % (libc.end - libc.begin);
  for (int round = 0; round < 2; ++round)
    for (const std::uint64_t address : addresses)
      ASSERT_EQ(rules.Find(address), ReadFrameRule(libc.table, address)) << std::hex << address;
}

TEST(FrameRules, KnowNothingOfAddressesWithoutCode) {
  FrameRules rules;
  ASSERT_TRUE(rules.Create());
  static const int data = 1;
  for (const std::uint64_t address :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x1000}, ~std::uint64_t{0},
        reinterpret_cast<std::uint64_t>(&data), std::uint64_t{1} << arch::kAddressBits,
        std::uint64_t{1} << 48})
    for (int round = 0; round < 2; ++round)
      EXPECT_EQ(rules.Find(address).base, CfaBase::kUnsupported) << std::hex << address;
}

TEST(FrameRules, ClearForgetsNothingThatIsStillTrue) {
  const Code libc = Libc();
  FrameRules rules;
  ASSERT_TRUE(rules.Create());
  const FrameRule before = rules.Find(libc.begin + 5000);
  rules.Clear();
  EXPECT_EQ(rules.Find(libc.begin + 5000), before);
}

// Stacks built from rules, so that the expected result of the walk is known.
class BuiltStackTest : public ::testing::Test {
 protected:
  BuiltStackTest() : libc_(Libc()), memory_(4096) {
    EXPECT_TRUE(rules_.Create());
    std::mt19937_64 random(2);
    // All kinds of return addresses. The important ones are at the beginning of a rule, because the
    // previous rule, which covers the call, must be used.
    while (pcs_.size() < 3000) {
      const std::uint64_t pc = libc_.begin + random() % (libc_.end - libc_.begin);
      const FrameRule rule = rules_.Find(pc - 1);
      const bool usable = rule.base == CfaBase::kStackPointer ||
                          rule.base == CfaBase::kFramePointer ||
                          rule.base == CfaBase::kLoadFromFrame;
      const bool plain = rule.base == CfaBase::kStackPointer && rule == rules_.Find(pc);
      if (!usable || rule.cfa_words > 12 || rule.cfa_words < -12 || (plain && pcs_.size() % 4 != 0))
        continue;
      pcs_.push_back(pc);
    }
    // Frames that realign the stack are rare. call_chains.cc in this program has some if GCC
    // compiled it; Clang's version finds the frame by rbp, and code
    // for aarch64 always does.
#ifndef __clang__
    const Code own = CodeOf("");
    std::vector<std::uint64_t> realigned;
    for (std::uint64_t pc = own.begin + 1; pc < own.end && realigned.size() < 300; ++pc) {
      const FrameRule rule = rules_.Find(pc - 1);
      if (rule.base == CfaBase::kLoadFromFrame && rule.cfa_words >= -12 && rule.cfa_words <= 12)
        realigned.push_back(pc);
    }
#ifdef __x86_64__
    EXPECT_GT(realigned.size(), 10u);
#endif
    pcs_.insert(pcs_.end(), realigned.begin(), realigned.end());
#endif
  }

  std::uint64_t AddressOf(std::size_t word) const {
    return reinterpret_cast<std::uint64_t>(memory_.data() + word);
  }
  StackBounds Bounds() const { return {AddressOf(0), AddressOf(memory_.size())}; }

  // Fills the memory with random words, then builds frames until `frames` or the end of the memory;
  // the last one has return address 0. Returns false when these random rules cannot be laid out.
  bool Build(std::mt19937_64* random, std::size_t frames);
  bool Place(std::uint64_t address, std::uint64_t value);

  Code libc_;
  FrameRules rules_;
  std::vector<std::uint64_t> memory_;
  std::vector<std::uint64_t> pcs_;
  Registers start_{};
  std::vector<void*> expected_;
  std::vector<std::uint64_t> placed_;
  StackWalk walk_;
};

bool BuiltStackTest::Place(std::uint64_t address, std::uint64_t value) {
  if (address % 8 != 0 || address < start_.sp || address > Bounds().high - 8 ||
      std::count(placed_.begin(), placed_.end(), address) != 0)
    return false;
  placed_.push_back(address);
  memory_[(address - AddressOf(0)) / 8] = value;
  return true;
}

bool BuiltStackTest::Build(std::mt19937_64* random, std::size_t frames) {
  for (std::uint64_t& word : memory_) word = (*random)();
  expected_.clear();
  placed_.clear();
  start_ = {pcs_[(*random)() % pcs_.size()], AddressOf((*random)() % 64), (*random)()};
  Registers at = start_;
  // The value of the frame pointer is chosen when a frame needs it, at the place where it comes
  // from: the start, or the slot where it was last saved.
  std::uint64_t saved_at = 0;
  bool chosen = false;
  const auto choose_bp = [&](std::uint64_t value) {
    if (chosen) return at.fp == value;
    chosen = true;
    at.fp = value;
    if (saved_at == 0) start_.fp = value;
    return saved_at == 0 || Place(saved_at, value);
  };
  while (true) {
    const FrameRule rule = rules_.Find(at.pc - 1);
    expected_.push_back(reinterpret_cast<void*>(at.pc));
    const auto offset = static_cast<std::uint64_t>(std::int64_t{rule.cfa_words} * 8);
    std::uint64_t cfa = at.sp + offset;
    if (rule.base != CfaBase::kStackPointer) {
      cfa = at.sp + 8 * (3 + (*random)() % 10);
      if (rule.base == CfaBase::kFramePointer) {
        if (!choose_bp(cfa - offset)) return false;
      } else {
        const std::uint64_t slot = at.sp + 8 * ((*random)() % 3);
        if (!choose_bp(slot - offset) || !Place(slot, cfa)) return false;
      }
    }
    if (cfa <= at.sp) return false;
    if (rule.fp == SavedFp::kUnusable) return false;
    if (rule.fp == SavedFp::kAtFrame && !chosen) return false;
    if (rule.fp != SavedFp::kSame) {
      saved_at = (rule.fp == SavedFp::kAtCfa ? cfa : at.fp) +
                 static_cast<std::uint64_t>(std::int64_t{rule.saved_words} * 8);
      chosen = false;
    }
    at.sp = cfa;
    at.pc = expected_.size() == frames ? 0 : pcs_[(*random)() % pcs_.size()];
    if (!Place(rule.ReturnAddressSlot(cfa), at.pc)) return false;
    if (at.pc == 0) return true;
  }
}

TEST_F(BuiltStackTest, IsWalkedAsBuilt) {
  std::mt19937_64 random(3);
  int built = 0, through_frame_pointer = 0;
  for (int round = 0; round < 4000; ++round) {
    if (!Build(&random, 1 + random() % 12)) continue;
    ++built;
    ASSERT_TRUE(WalkStack(&rules_, Bounds(), {}, start_, 100, &walk_));
    ASSERT_EQ(std::vector<void*>(walk_.frames, walk_.frames + walk_.frame_count), expected_);
    through_frame_pointer += walk_.word_count > walk_.frame_count;
  }
  EXPECT_GT(built, 300);
  EXPECT_GT(through_frame_pointer, 20);
}

// The guarantee of the memo: if it finds a stack, a walk would find the same one, whatever words
// have changed.
TEST_F(BuiltStackTest, TheMemoNoticesEveryChangeThatMatters) {
  std::mt19937_64 random(4);
  int built = 0, found = 0, noticed = 0;
  for (int round = 0; round < 4000; ++round) {
    if (!Build(&random, 1 + random() % 12)) continue;
    ++built;
    ASSERT_TRUE(WalkStack(&rules_, Bounds(), {}, start_, 100, &walk_));
    auto memo = NewMemo();
    memo->Reset(1);
    memo->Store(start_, walk_, {1, false});
    for (int change = 0; change < 30; ++change) {
      const std::size_t word = change % 2 == 0
                                   ? (placed_[random() % placed_.size()] - AddressOf(0)) / 8
                                   : random() % memory_.size();
      const std::uint64_t before = memory_[word];
      // Half of the changes are to a nearby address on the stack, a plausible frame pointer.
      memory_[word] = random() % 2 == 0 ? before + 8 : pcs_[random() % pcs_.size()];
      StackMemo::Result result{0, false};
      if (memo->Find(start_, &result)) {
        ++found;
        ASSERT_TRUE(WalkStack(&rules_, Bounds(), {}, start_, 100, &walk_));
        ASSERT_EQ(std::vector<void*>(walk_.frames, walk_.frames + walk_.frame_count), expected_);
      } else {
        ++noticed;
      }
      memory_[word] = before;
    }
  }
  EXPECT_GT(built, 300);
  EXPECT_GT(found, 1000);
  EXPECT_GT(noticed, 1000);
}

TEST_F(BuiltStackTest, ACallerBelowItsCalleeIsRefused) {
  std::mt19937_64 random(5);
  int refused = 0;
  for (const std::uint64_t pc : pcs_) {
    const FrameRule rule = rules_.Find(pc - 1);
    if (rule.base != CfaBase::kFramePointer || rule.fp == SavedFp::kUnusable) continue;
    for (std::uint64_t& word : memory_) word = 0;  // a return address of 0 would end the walk
    const std::uint64_t sp = AddressOf(100);
    const Registers start{pc, sp, sp - 8 - static_cast<std::uint64_t>(rule.cfa_words * 8)};
    EXPECT_FALSE(WalkStack(&rules_, {AddressOf(0), AddressOf(4096)}, {}, start, 100, &walk_));
    Registers level = start;
    level.fp = sp - static_cast<std::uint64_t>(rule.cfa_words * 8);
    EXPECT_FALSE(WalkStack(&rules_, {AddressOf(0), AddressOf(4096)}, {}, level, 100, &walk_));
    ++refused;
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace memprof::recorder
