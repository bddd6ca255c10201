// Which function a program gets from a lookup: by name, and by cuGetProcAddress with its versions
// and flags.

#include <algorithm>
#include <string>

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;

constexpr cuuint64_t kDefault = CU_GET_PROC_ADDRESS_DEFAULT;
constexpr cuuint64_t kLegacyStream = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr cuuint64_t kPerThreadStream = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

class ProcAddress : public HooksTest {
 protected:
  // Calls both versions of cuGetProcAddress, which must agree.
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
  // A function of libcuda that is exported under no name of the table.
  static void* Unexported() { return RealDriverSymbol("fake_driver_unnamed"); }
};

TEST_F(ProcAddress, EveryFunctionOfTheTableIsSwappedByItsAddress) {
  for (int i = 0; i < kFunctionCount; ++i) {
    const auto id = static_cast<FunctionId>(i);
    // Only the returned pointer counts, not the requested name.
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
  EXPECT_EQ(Get("cuMemAlloc", &own), &own) << "not a function of libcuda";
  EXPECT_EQ(SwapByName("cuMemAlloc_v2", &own), &own);
  EXPECT_EQ(SwapByName("cuMemAlloc_v2", Real("cuMemFree_v2")), Real("cuMemFree_v2"));
  EXPECT_EQ(Get("cuMemAlloc", nullptr), nullptr);
  EXPECT_EQ(SwapByName("cuMemAlloc_v2", nullptr), nullptr);
  EXPECT_EQ(Get(nullptr, Unexported()), Unexported());
}

// A pointer that is returned for a base name of the table, but is none of its known versions, is a
// version newer than the table. Its parameters are unknown.
TEST_F(ProcAddress, AnUnknownVersionIsLeftAloneAndCounted) {
  ASSERT_NE(Unexported(), nullptr);
  const std::uint64_t before = UnknownVersions();
  std::uint64_t asked = 0;
  for (const char* base : {"cuMemAlloc", "cuMemAllocAsync", "cuCtxCreate", "cuGetProcAddress"}) {
    for (const int version : {2000, 3020, 12050, 13000, 14000}) {
      for (const cuuint64_t flags : {kDefault, kLegacyStream, kPerThreadStream}) {
        EXPECT_EQ(Get(base, Unexported(), version, flags), Unexported())
            << base << " " << version << " " << flags;
        asked += 2;
      }
    }
  }
  EXPECT_EQ(UnknownVersions() - before, asked);
  Get("cuMemAlloc_v2", Unexported());  // not a base name
  Get("", Unexported());
  Get("cuMemAlloc", Real("cuMemAlloc_v2"), 14000);
  EXPECT_EQ(UnknownVersions() - before, asked);
  Start();
  EXPECT_EQ(Finish().counters.at("driver_versions_unknown"), UnknownVersions());
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

TEST(DriverTable, NamesAreUniqueAndVariantsDiffer) {
  // No two rows may match the same request to cuGetProcAddress.
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
    // Per-thread variants are those with the suffix.
    const std::size_t length = rows[i].name.size();
    const std::string suffix = rows[i].name.substr(length < 5 ? 0 : length - 5);
    EXPECT_EQ(rows[i].streams == "kPerThread", suffix == "_ptsz" || suffix == "_ptds");
    EXPECT_EQ(rows[i].name.rfind(rows[i].base, 0), 0u) << rows[i].name;
  }
}

}  // namespace
}  // namespace memprof::recorder
