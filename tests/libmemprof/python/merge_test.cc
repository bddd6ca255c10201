// Merging Python frames into native stacks built by hand; layouts; and reads of memory that is not
// mapped.
#include "libmemprof/src/python/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "libmemprof/src/base/checked_memory.h"
#include "libmemprof/src/python/internal/runtime.h"
#include "libmemprof/src/python/stacks.h"
#include "libmemprof/src/python_layout/layout.h"
#include "libmemprof/src/stacks/stack_table.h"

namespace memprof::recorder {
namespace {

// Builds a native stack with frames of 100 bytes that begin at 1000, named a, b, c…; a Python frame
// is a digit, in an interpreter loop at the given address. Returns the merged stack as text.
class Merging {
 public:
  Merging& Native(const std::string& names, bool truncated = false) {
    for (const char name : names) {
      offsets_.push_back(static_cast<std::uint32_t>(100 * frames_.size()));
      frames_.push_back(reinterpret_cast<void*>(static_cast<std::uintptr_t>(name)));
    }
    truncated_ = truncated;
    return *this;
  }
  Merging& Python(std::uint32_t id, std::uint64_t loop) {
    python_->frames[python_->count++] = {0, 0, loop};
    ids_.push_back(id);
    return *this;
  }
  Merging& WithoutOffsets() {
    with_offsets_ = false;
    return *this;
  }
  std::string Run(int room = 100) {
    std::vector<void*> merged(static_cast<std::size_t>(room));
    const NativeStack native{frames_.data(), with_offsets_ ? offsets_.data() : nullptr, 1000,
                             static_cast<int>(frames_.size()), truncated_};
    const InterpreterCode code{{'E' - 1, 'E'}, {'E' - 1, 'I'}};
    const int count =
        MergeStacks(native, *python_, ids_.data(), code, merged.data(), room, &was_truncated_);
    std::string text;
    for (int i = 0; i < count; ++i) {
      const auto value = reinterpret_cast<std::uint64_t>(merged[static_cast<std::size_t>(i)]);
      text += static_cast<char>((value & kPythonElement) != 0 ? '0' + (value & 15) : value);
    }
    return text;
  }
  bool was_truncated() const { return was_truncated_; }

 private:
  std::vector<void*> frames_;
  std::vector<std::uint32_t> offsets_;
  std::unique_ptr<PythonStack> python_ = std::make_unique<PythonStack>();
  std::vector<std::uint32_t> ids_;
  bool truncated_ = false, was_truncated_ = false, with_offsets_ = true;
};

TEST(PythonMergeTest, LoopsAreReplacedByWhatTheyRun) {
  // Interpreter loops in b (1100 to 1200) and d.
  EXPECT_EQ(Merging().Native("abcde").Python(1, 1150).Python(2, 1150).Python(3, 1300).Run(),
            "a12c3e");
  EXPECT_EQ(Merging().Native("abcde").Run(), "abcde");
  // A Python frame that is left out still replaces its loop.
  EXPECT_EQ(Merging().Native("abc").Python(0, 1150).Run(), "ac");
  EXPECT_EQ(Merging().Native("ab").Python(1, 1199).Run(), "a1");
  EXPECT_EQ(Merging().Native("ab").Python(1, 1099).Run(), "1b");
}

TEST(PythonMergeTest, FramesOutsideOfTheStackStandWhereTheyCome) {
  EXPECT_EQ(Merging().Native("abc").Python(1, 10).Python(2, 1250).Run(), "1ab2");
  // The address is beyond the end of a truncated stack.
  EXPECT_EQ(Merging().Native("abc", true).Python(1, 1150).Python(2, 9000).Run(), "a1c2");
  EXPECT_EQ(Merging().Native("", false).Python(1, 5).Python(2, 6).Run(), "12");
}

TEST(PythonMergeTest, WithoutMarksLoopsAreFoundByTheirCode) {
  EXPECT_EQ(Merging().Native("aEbEc").Python(1, 0).Python(2, 0).Run(), "a1b2c");
  EXPECT_EQ(Merging().Native("aEbEc").Python(1, 0).Run(), "a1bc");
  EXPECT_EQ(Merging().Native("aEbc").Python(1, 0).Python(2, 0).Run(), "a1bc2");
  EXPECT_EQ(Merging().WithoutOffsets().Native("aEbE").Python(1, 7).Python(2, 7).Python(3, 8).Run(),
            "a12b3");
}

TEST(PythonMergeTest, FunctionsOfTheInterpreterAreLeftOutOfStacksWithPython) {
  EXPECT_EQ(Merging().Native("aFbGHcId").Python(1, 1250).Run(), "a1cd");
  EXPECT_EQ(Merging().Native("aFbId").Run(), "aFbId");
  EXPECT_EQ(Merging().Native("aEFbEGc").Python(1, 0).Run(), "a1bc");
}

TEST(PythonMergeTest, TooLongIsCutAndSaid) {
  Merging whole, cut;
  EXPECT_EQ(whole.Native("abc").Python(1, 1150).Run(3), "a1c");
  EXPECT_FALSE(whole.was_truncated());
  EXPECT_EQ(cut.Native("abc").Python(1, 1150).Python(2, 1150).Run(3), "a12");
  EXPECT_TRUE(cut.was_truncated());
}

TEST(PythonThreadTest, FourStacksOfOneSetDoNotDriveEachOtherOut) {
  const auto thread = std::make_unique<PythonThread>();
  const auto key = [](std::uint32_t i) { return 7 + std::uint64_t{i} * PythonThread::kSets; };
  for (std::uint32_t i = 0; i < 5; ++i) {
    PythonThread::Entry* place = thread->Find(key(i));
    if (i < 4) {
      EXPECT_EQ(place->node, 0u) << "the " << i << "th drives another one out";
    }
    *place = {.key = key(i), .node = i + 1};
  }
  int kept = 0;
  for (std::uint32_t i = 0; i < 5; ++i)
    kept += thread->Find(key(i))->key == key(i) && thread->Find(key(i))->node == i + 1;
  EXPECT_EQ(kept, 4);
  EXPECT_EQ(thread->Find(key(4))->node, 5u) << "the newest is kept";
}

TEST(PythonLayoutTest, TablesForVersionsThatHaveNoOffsets) {
  PythonLayout layout;
  for (int minor = 8; minor <= 12; ++minor) {
    EXPECT_EQ(FindPythonLayout(minor, nullptr, &layout), LayoutResult::kOk);
    EXPECT_EQ(layout.minor, minor);
  }
  for (const int minor : {-1, 0, 7, 15, 99})
    EXPECT_EQ(FindPythonLayout(minor, nullptr, &layout), LayoutResult::kUnknownVersion);
}

class DebugOffsets {
 public:
  explicit DebugOffsets(std::uint64_t version) {
    std::memcpy(words_, "xdebugpy", 8);
    words_[1] = version;
    for (std::size_t i = 3; i < kDebugOffsetsBytes / 8; ++i) words_[i] = i;
  }
  std::uint64_t& operator[](std::size_t i) { return words_[i]; }
  LayoutResult Read(int minor, PythonLayout* layout) {
    return FindPythonLayout(minor, words_, layout);
  }

 private:
  std::uint64_t words_[kDebugOffsetsBytes / 8] = {};
};

TEST(PythonLayoutTest, OffsetsAreReadWhereTheVersionHasThem) {
  PythonLayout layout;
  EXPECT_EQ(DebugOffsets(0x030d00f0).Read(13, &layout), LayoutResult::kOk);
  EXPECT_EQ(layout.thread_frame, 184 / 8);
  EXPECT_EQ(layout.code_line_table, 304 / 8);
  EXPECT_EQ(DebugOffsets(0x030e0af0).Read(14, &layout), LayoutResult::kOk);
  EXPECT_EQ(layout.thread_frame, 208 / 8);
  EXPECT_EQ(layout.frame_mark, 288 / 8);
}

TEST(PythonLayoutTest, OffsetsThatAreNoneAreRefused) {
  PythonLayout layout;
  EXPECT_EQ(DebugOffsets(0x030e00f0).Read(13, &layout), LayoutResult::kNoOffsets);
  DebugOffsets cookie(0x030d00f0), threaded(0x030d00f0), large(0x030d00f0);
  cookie[0] = 0;
  EXPECT_EQ(cookie.Read(13, &layout), LayoutResult::kNoOffsets);
  threaded[2] = 1;
  EXPECT_EQ(threaded.Read(13, &layout), LayoutResult::kFreeThreaded);
  large[184 / 8] = 5000;
  EXPECT_EQ(large.Read(13, &layout), LayoutResult::kNoOffsets);
}

TEST(PythonRuntimeTest, VersionsAreReadFromText) {
  EXPECT_EQ(MinorVersion("3.11.7 (main)"), 11);
  EXPECT_EQ(MinorVersion("3.8.1"), 8);
  for (const char* text : {"", "2.7.18", "3", "3.", "3.x", "3.11"})
    EXPECT_EQ(MinorVersion(text), -1);
  EXPECT_EQ(MinorVersion(nullptr), -1);
}

TEST(CheckedMemoryTest, WhatIsNotThereIsNotRead) {
  constexpr std::size_t kPage = 4096;
  auto* pages = static_cast<char*>(
      mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + kPage, kPage, PROT_NONE), 0);
  const auto base = reinterpret_cast<std::uint64_t>(pages);
  pages[kPage - 1] = 'x';
  char byte = 0;
  EXPECT_TRUE(ReadChecked(base + kPage - 1, &byte));
  EXPECT_EQ(byte, 'x');
  EXPECT_TRUE(IsReadable(base, kPage));
  EXPECT_FALSE(IsReadable(base, kPage + 1));
  EXPECT_FALSE(IsReadable(base + kPage - 1, 2 * kPage));
  EXPECT_FALSE(IsReadable(base + 2 * kPage - 1, 2));
  EXPECT_TRUE(IsReadable(base + 2 * kPage, kPage));
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{1} << 46,
                                      std::uint64_t{1} << 60, ~std::uint64_t{7}})
    EXPECT_FALSE(IsReadable(address, 8));
  errno = 77;
  EXPECT_FALSE(IsReadable(base, ~std::size_t{0}));
  EXPECT_FALSE(IsReadable(base + kPage, 1));
  EXPECT_EQ(errno, 77);
  munmap(pages, 3 * kPage);
}

}  // namespace
}  // namespace memprof::recorder
