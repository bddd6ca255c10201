// The source with the stand-in driver and libcupti, used as a program would use them. The recorder
// is a fake.
#pragma once

#include <cupti_callbacks.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "libmemprof/src/source_api/source_api.h"
#include "simcuda/cupti/newer_cupti.h"
#include "tests/cupti/fake_recorder.h"
#include "tests/cupti/guest_calls.h"
#include "tests/cupti/process.h"
#include "tests/support/paths.h"

namespace memprof::cupti_test {

inline FakeRecorder& Recorder() { return FakeRecorder::Get(); }

inline const SourceApi* Open() {
  ConfigureStandIn();
  void* library = dlopen(paths::kSourceLibrary, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) exit(1);
  return reinterpret_cast<SourceOpenFunction>(dlsym(library, kSourceOpenSymbol))(Recorder().api());
}

// Runs the body in a separate process with the source opened.
template <typename Body>
void WithSource(const Body& body) {
  InProcess([&body] { body(Open()); });
}

}  // namespace memprof::cupti_test
