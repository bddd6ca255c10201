// A libcupti whose version, answers and callbacks the test sets. It is a separate library, found by
// MEMPROF_CUPTI_LIBRARY; the test finds its controls by dlsym.
#pragma once

#include <cupti_callbacks.h>

#include <cstdint>

namespace memprof::cupti_test {

struct FakeCuptiControls {
  std::uint32_t version = 130001;
  // Results: of cuptiSubscribe_v2 with a request for a second subscriber's rights, of
  // cuptiSubscribe_v2 otherwise, and of cuptiSubscribe.
  int multiple_result = 0;
  int subscribe_v2_result = 0;
  int subscribe_result = 0;
  const char* other_subscriber = "";
  std::uint32_t known_cbids = 100000;  // cuptiGetCallbackName fails from this id on
  std::uint32_t renamed_cbid = 0;      // this id has a different name than in any CUPTI
  int enable_result = 0;
  void (*in_subscribe)() = nullptr;  // called by whichever subscribe function

  // Calls that were made.
  int multiple_calls = 0;
  int subscribe_v2_calls = 0;
  int subscribe_calls = 0;
  int unsubscribe_calls = 0;
  std::size_t struct_size = 0;
  CUpti_CallbackFunc callback = nullptr;
  std::uint8_t driver_on[1024] = {};
  std::uint8_t resource_on[64] = {};
  std::uint8_t state_on[64] = {};
  int domains_enabled = 0;
};

// The library exports: extern "C" FakeCuptiControls* fake_cupti_controls().

}  // namespace memprof::cupti_test
