// The callback table against the toolkit's header and libcupti, and our copies of log values
// against the log's own definition.
#include "libmemprof/src/driver/table.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "cupti_hooks/src/callbacks.h"
#include "cupti_hooks/src/driver_params.h"

namespace memprof::cupti {
namespace {

TEST(CallbackTable, ListsNothingTwice) {
  std::set<std::uint32_t> cbids;
  std::set<std::string> names;
  for (const CallbackEntry& entry : Callbacks()) {
    EXPECT_TRUE(cbids.insert(entry.cbid).second) << entry.name;
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(FindCallback(entry.cbid), &entry);
  }
  EXPECT_GT(cbids.size(), 130u);
}

TEST(CallbackTable, FindsNothingForIdsThatItDoesNotList) {
  EXPECT_EQ(FindCallback(0), nullptr);
  EXPECT_EQ(FindCallback(1), nullptr);  // cuInit
  EXPECT_EQ(FindCallback(5000), nullptr);
  EXPECT_EQ(FindCallback(0xffffffff), nullptr);
}

TEST(CallbackTable, AgreesWithTheToolkitsHeader) {
  std::ifstream header(CUPTI_DRIVER_CBID_HEADER);
  ASSERT_TRUE(header) << CUPTI_DRIVER_CBID_HEADER;
  // "    CUPTI_DRIVER_TRACE_CBID_cuInit     = 1,"
  const std::string prefix = "CUPTI_DRIVER_TRACE_CBID_";
  std::map<std::string, std::uint32_t> known;
  std::uint32_t end = 0;
  for (std::string line; std::getline(header, line);) {
    const std::size_t begin = line.find(prefix);
    const std::size_t equals = line.find('=');
    if (begin == std::string::npos || equals == std::string::npos) continue;
    std::string name = line.substr(begin + prefix.size(), equals - begin - prefix.size());
    name.resize(name.find_last_not_of(' ') + 1);
    const auto cbid =
        static_cast<std::uint32_t>(std::strtoul(line.c_str() + equals + 1, nullptr, 10));
    if (name == "SIZE") end = cbid;
    known[name] = cbid;
  }
  ASSERT_GT(end, 600u);
  for (const CallbackEntry& entry : Callbacks()) {
    const auto found = known.find(entry.name);
    if (found == known.end()) {
      EXPECT_GE(entry.cbid, end) << entry.name << " is not in the header";
    } else {
      EXPECT_EQ(entry.cbid, found->second) << entry.name;
    }
  }
}

// Works without a GPU. Ids that an older CUPTI does not know have no name there.
TEST(CallbackTable, AgreesWithTheToolkitsLibrary) {
  const char* path = std::getenv("MEMPROF_TEST_CUPTI");
  if (path == nullptr) path = CUPTI_LIBRARY;
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "no libcupti in the toolkit: " << path;
  const auto name_of =
      reinterpret_cast<CUptiResult (*)(CUpti_CallbackDomain, std::uint32_t, const char**)>(
          dlsym(library, "cuptiGetCallbackName"));
  ASSERT_NE(name_of, nullptr);
  unsigned known = 0;
  for (const CallbackEntry& entry : Callbacks()) {
    const char* name = nullptr;
    if (name_of(CUPTI_CB_DOMAIN_DRIVER_API, entry.cbid, &name) != CUPTI_SUCCESS) continue;
    EXPECT_STREQ(name, entry.name);
    ++known;
  }
  EXPECT_GT(known, 130u);
}

// The parameters of a function, in order, are the members of the toolkit's structure. The recorder
// reads the structure by the table of functions alone.
template <typename... Arguments>
constexpr std::size_t PackedSize(CUresult (*)(Arguments...)) {
  std::size_t end = 0, most = 1;
  ((end = (end + alignof(Arguments) - 1) / alignof(Arguments) * alignof(Arguments) +
          sizeof(Arguments),
    most = alignof(Arguments) > most ? alignof(Arguments) : most),
   ...);
  return (end + most - 1) / most * most;
}

TEST(CallbackTable, ParametersAreLaidOutAsInTheToolkit) {
  std::map<std::string, std::size_t> ours;
#define PACKED_SIZE(name, base, since, streams, parameters, arguments, handler) \
  ours[#name] = PackedSize(static_cast<CUresult(*) parameters>(nullptr));
  MEMPROF_DRIVER_FUNCTIONS(PACKED_SIZE)
#undef PACKED_SIZE
#define EXPECT_SIZE(name) EXPECT_EQ(ours.at(#name), sizeof(name##_params)) << #name;
  EXPECT_SIZE(cuMemAlloc_v2)
  EXPECT_SIZE(cuMemAllocPitch_v2)
  EXPECT_SIZE(cuMemAllocManaged)
  EXPECT_SIZE(cuMemHostAlloc)
  EXPECT_SIZE(cuMemHostRegister_v2)
  EXPECT_SIZE(cuMemAllocFromPoolAsync)
  EXPECT_SIZE(cuMemPoolCreate)
  EXPECT_SIZE(cuMemPoolImportFromShareableHandle)
  EXPECT_SIZE(cuMemCreate)
  EXPECT_SIZE(cuMemMap)
  EXPECT_SIZE(cuMemAddressReserve)
  EXPECT_SIZE(cuMemExportToShareableHandle)
  EXPECT_SIZE(cuMemImportFromShareableHandle)
  EXPECT_SIZE(cuMemMapArrayAsync)
  EXPECT_SIZE(cuMipmappedArrayCreate)
  EXPECT_SIZE(cuIpcOpenMemHandle_v2)
  EXPECT_SIZE(cuIpcGetMemHandle)
  EXPECT_SIZE(cuMemPrefetchAsync)
  EXPECT_SIZE(cuMemAdvise)
  EXPECT_SIZE(cuGraphAddMemAllocNode)
  EXPECT_SIZE(cuGraphAddMemFreeNode)
  EXPECT_SIZE(cuGraphInstantiateWithFlags)
  EXPECT_SIZE(cuGraphLaunch)
  EXPECT_SIZE(cuCtxCreate_v3)
  EXPECT_SIZE(cuGraphicsMapResources)
  EXPECT_SIZE(cuGraphicsSubResourceGetMappedArray)
  EXPECT_SIZE(cuExternalMemoryGetMappedBuffer)
#undef EXPECT_SIZE
}

}  // namespace
}  // namespace memprof::cupti
