// Which function a program gets that looks one up: by name, and by cuGetProcAddress with its
// versions and flags.
#include <algorithm>

#include "tests/recorder/hooks_fixture.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;

constexpr cuuint64_t kDefault = CU_GET_PROC_ADDRESS_DEFAULT;
constexpr cuuint64_t kLegacyStream = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr cuuint64_t kPerThreadStream = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

class ProcAddress : public HooksTest {
 protected:
  // Through both versions of the function, which must agree.
  void* Get(const char* base, void* driver_answers, int version = 13000,
            cuuint64_t flags = kDefault) {
    driver_.proc_address = driver_answers;
    void* first = nullptr;
    void* second = nullptr;
    EXPECT_EQ(Call("cuGetProcAddress", base, &first, version, flags), CUDA_SUCCESS);
    EXPECT_EQ(
        Call("cuGetProcAddress_v2", base, &second, version, flags, static_cast<void*>(nullptr)),
        CUDA_SUCCESS);
    EXPECT_EQ(first, second);
    return first;
  }
  static void* Real(const char* name) { return RealFunction(Id(name)); }
  // Code of libcuda that it exports under no name of ours.
  static void* Unexported() { return RealDriverSymbol("fake_driver_unnamed"); }
};

TEST_F(ProcAddress, EveryFunctionOfTheTableIsSwappedByItsAddress) {
  for (int i = 0; i < kFunctionCount; ++i) {
    const auto id = static_cast<FunctionId>(i);
    // Whatever the program asked for: the pointer says what it got.
    EXPECT_EQ(Get("anything", RealFunction(id)), WrapperFunction(id)) << FunctionName(id);
    EXPECT_EQ(SwapByName(FunctionName(id), RealFunction(id)), WrapperFunction(id));
    EXPECT_NE(RealFunction(id), WrapperFunction(id));
  }
}

TEST_F(ProcAddress, WhatIsNotInTheTableStaysWhatItIs) {
  int own = 0;
  void* other = RealDriverSymbol("cuCtxGetCurrent");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(Get("cuCtxGetCurrent", other), other);
  EXPECT_EQ(SwapByName("cuCtxGetCurrent", other), other);
  EXPECT_EQ(Get("cuNoSuchThing", &own), &own);
  EXPECT_EQ(Get("cuMemAlloc", &own), &own) << "not of libcuda";
  EXPECT_EQ(SwapByName("cuMemAlloc_v2", &own), &own);
  EXPECT_EQ(SwapByName("cuMemAlloc_v2", Real("cuMemFree_v2")), Real("cuMemFree_v2"));
  EXPECT_EQ(Get("cuMemAlloc", nullptr), nullptr);
  EXPECT_EQ(SwapByName("cuMemAlloc_v2", nullptr), nullptr);
  EXPECT_EQ(Get(nullptr, Unexported()), Unexported());
}

// The driver may hand out an entry that it exports under no name: base, version and flags tell.
TEST_F(ProcAddress, AnUnknownEntryIsJudgedByNameVersionAndFlags) {
  struct Case {
    const char* base;
    int version;
    cuuint64_t flags;
    const char* expected;  // wrapper of; null = left alone
  };
  const Case cases[] = {
      {"cuMemAlloc", 13000, kDefault, "cuMemAlloc_v2"},
      {"cuMemAlloc", 3020, kDefault, "cuMemAlloc_v2"},
      {"cuMemAlloc", 3019, kDefault, "cuMemAlloc"},
      {"cuMemAlloc", 1999, kDefault, nullptr},
      {"cuMemAllocAsync", 12000, kDefault, "cuMemAllocAsync"},
      {"cuMemAllocAsync", 12000, kLegacyStream, "cuMemAllocAsync"},
      {"cuMemAllocAsync", 12000, kPerThreadStream, "cuMemAllocAsync_ptsz"},
      {"cuMemAllocAsync", 11010, kDefault, nullptr},
      {"cuMemAlloc", 13000, kPerThreadStream, "cuMemAlloc_v2"},  // has no flavours
      {"cuCtxCreate", 2000, kDefault, "cuCtxCreate"},
      {"cuCtxCreate", 11039, kDefault, "cuCtxCreate_v2"},
      {"cuCtxCreate", 11040, kDefault, "cuCtxCreate_v3"},
      {"cuCtxCreate", 12050, kDefault, "cuCtxCreate_v4"},
      {"cuGetProcAddress", 11080, kDefault, "cuGetProcAddress"},
      {"cuGetProcAddress", 12000, kDefault, "cuGetProcAddress_v2"},
      {"cuMemAlloc_v2", 13000, kDefault, nullptr},  // not a base name
      {"", 13000, kDefault, nullptr},
  };
  ASSERT_NE(Unexported(), nullptr);
  for (const Case& c : cases) {
    void* expected = c.expected == nullptr ? Unexported() : Wrapper(c.expected);
    EXPECT_EQ(Get(c.base, Unexported(), c.version, c.flags), expected)
        << c.base << " " << c.version << " " << c.flags;
  }
}

TEST_F(ProcAddress, AFailureIsPassedOnUntouched) {
  Answer(CUDA_ERROR_NOT_FOUND);
  void* function = &function;
  void* const before = function;
  EXPECT_EQ(Call("cuGetProcAddress", "cuMemAlloc", &function, 13000, kDefault),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(Call("cuGetProcAddress_v2", "cuMemAlloc", &function, 13000, kDefault,
                 static_cast<void*>(nullptr)),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, before);
}

TEST_F(ProcAddress, LookingUpIsNoEventAndStartsNothing) {
  Get("cuMemAlloc", Real("cuMemAlloc_v2"));
  EXPECT_FALSE(Recording());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST(DriverTable, NamesAreUniqueAndVariantsTellApart) {
  // No two rows may answer the same question of cuGetProcAddress.
  struct Row {
    std::string name, base;
    int since;
    std::string streams;
    bool operator<(const Row& other) const {
      return std::tie(base, since, streams) < std::tie(other.base, other.since, other.streams);
    }
  };
  std::vector<Row> rows = {
#define ROW(name, base, since, streams, ...) {#name, #base, since, #streams},
      MEMPROF_DRIVER_FUNCTIONS(ROW)
#undef ROW
  };
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kFunctionCount));
  std::sort(rows.begin(), rows.end());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_TRUE(rows[i - 1] < rows[i]) << rows[i].name << " and " << rows[i - 1].name;
    // Per-thread flavours are those with the suffix.
    const std::size_t length = rows[i].name.size();
    const std::string suffix = rows[i].name.substr(length < 5 ? 0 : length - 5);
    EXPECT_EQ(rows[i].streams == "kPerThread", suffix == "_ptsz" || suffix == "_ptds");
    EXPECT_EQ(rows[i].name.rfind(rows[i].base, 0), 0u) << rows[i].name;
  }
}

}  // namespace
}  // namespace memprof::recorder
