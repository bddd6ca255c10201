// The callback table against the toolkit's header and libcupti, and our copies of log values
// against the log's own definition.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "cupti_hooks/src/callbacks.h"
#include "cupti_hooks/src/log_values.h"
#include "proto/memprof.pb.h"

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

TEST(LogValues, AreThoseOfTheLogFormat) {
  const std::map<std::uint32_t, std::string> ops = {
      {kOpAlloc, "OP_ALLOC"},
      {kOpFree, "OP_FREE"},
      {kOpAllocFailed, "OP_ALLOC_FAILED"},
      {kOpMap, "OP_MAP"},
      {kOpUnmap, "OP_UNMAP"},
      {kOpFreeFailed, "OP_FREE_FAILED"},
      {kOpContextCreate, "OP_CONTEXT_CREATE"},
      {kOpContextDestroy, "OP_CONTEXT_DESTROY"},
      {kOpDeviceReset, "OP_DEVICE_RESET"},
      {kOpModuleLoad, "OP_MODULE_LOAD"},
      {kOpModuleUnload, "OP_MODULE_UNLOAD"},
      {kOpLaunch, "OP_LAUNCH"},
      {kOpTouch, "OP_TOUCH"},
      {kOpMemcpy, "OP_MEMCPY"},
      {kOpMemset, "OP_MEMSET"},
      {kOpSync, "OP_SYNC"},
      {kOpPoolCreate, "OP_POOL_CREATE"},
      {kOpPoolDestroy, "OP_POOL_DESTROY"},
      {kOpPoolTrim, "OP_POOL_TRIM"},
      {kOpPoolSample, "OP_POOL_SAMPLE"},
      {kOpCheckpoint, "OP_CHECKPOINT"},
      {kOpPrefetch, "OP_PREFETCH"},
      {kOpAdvise, "OP_ADVISE"},
      {kOpDiscard, "OP_DISCARD"},
  };
  for (const auto& [value, name] : ops) {
    EXPECT_EQ(log::Op_Name(static_cast<log::Op>(value)), name);
  }
  const std::map<std::uint32_t, std::string> layers = {
      {kLayerNone, "LAYER_UNSPECIFIED"},
      {kLayerLinear, "LAYER_LINEAR"},
      {kLayerPitched, "LAYER_PITCHED"},
      {kLayerArray, "LAYER_ARRAY"},
      {kLayerManaged, "LAYER_MANAGED"},
      {kLayerPinned, "LAYER_PINNED"},
      {kLayerRegistered, "LAYER_REGISTERED"},
      {kLayerStreamOrdered, "LAYER_STREAM_ORDERED"},
      {kLayerVmmPhysical, "LAYER_VMM_PHYSICAL"},
      {kLayerVmmAddress, "LAYER_VMM_ADDRESS"},
      {kLayerImported, "LAYER_IMPORTED"},
      {kLayerModule, "LAYER_MODULE"},
      {kLayerGraph, "LAYER_GRAPH"},
      {kLayerMulticast, "LAYER_MULTICAST"},
  };
  for (const auto& [value, name] : layers) {
    EXPECT_EQ(log::Layer_Name(static_cast<log::Layer>(value)), name);
  }
  const std::map<std::uint32_t, std::string> copies = {
      {kCopyUnknown, "COPY_UNKNOWN"},
      {kCopyHostToDevice, "COPY_HOST_TO_DEVICE"},
      {kCopyDeviceToHost, "COPY_DEVICE_TO_HOST"},
      {kCopyDeviceToDevice, "COPY_DEVICE_TO_DEVICE"},
      {kCopyHostToHost, "COPY_HOST_TO_HOST"},
      {kCopyPeer, "COPY_PEER"},
  };
  for (const auto& [value, name] : copies) {
    EXPECT_EQ(log::CopyKind_Name(static_cast<log::CopyKind>(value)), name);
  }
  EXPECT_EQ(kSourceOff, static_cast<std::uint32_t>(log::SOURCE_OFF));
  EXPECT_EQ(kSourceOn, static_cast<std::uint32_t>(log::SOURCE_ON));
  EXPECT_EQ(kSourceRefused, static_cast<std::uint32_t>(log::SOURCE_REFUSED));
  EXPECT_EQ(kSourceLost, static_cast<std::uint32_t>(log::SOURCE_LOST));
}

}  // namespace
}  // namespace memprof::cupti
