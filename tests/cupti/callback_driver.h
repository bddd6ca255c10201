// Acts as CUPTI for the handlers: delivers the entry and the return of a driver call to OnCallback.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "cupti_hooks/src/address_map.h"
#include "cupti_hooks/src/callbacks.h"
#include "cupti_hooks/src/kernel_arguments.h"
#include "cupti_hooks/src/recorder.h"
#include "tests/cupti/fake_recorder.h"

namespace memprof::cupti_test {

inline constexpr std::uint64_t kContext = 0xc0ffee00;

// The id of a function of the table.
inline std::uint32_t CbidOf(const std::string& name) {
  for (const cupti::CallbackEntry& entry : cupti::Callbacks()) {
    if (name == entry.name) return entry.cbid;
  }
  ADD_FAILURE() << name << " is not in the table";
  return 0;
}

class DriverCall {
 public:
  DriverCall(const std::string& name, const void* params) : name_(name), cbid_(CbidOf(name)) {
    data_.functionName = name_.c_str();
    data_.functionParams = params;
    data_.context = reinterpret_cast<CUcontext>(kContext);
    data_.correlationData = &correlation_;
  }
  DriverCall& Symbol(const char* symbol) {
    data_.symbolName = symbol;
    return *this;
  }
  DriverCall& Enter() {
    data_.callbackSite = CUPTI_API_ENTER;
    data_.functionReturnValue = nullptr;
    Deliver();
    return *this;
  }
  DriverCall& Exit(CUresult result = CUDA_SUCCESS) {
    data_.callbackSite = CUPTI_API_EXIT;
    data_.functionReturnValue = &result;
    Deliver();
    data_.functionReturnValue = nullptr;
    return *this;
  }

 private:
  void Deliver() { cupti::OnCallback(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, cbid_, &data_); }

  std::string name_;
  std::uint32_t cbid_;
  std::uint64_t correlation_ = 0xdddddddddddddddd;  // CUPTI does not define the initial value
  CUpti_CallbackData data_{};
};

// The entry and the return of a successful call.
inline void Succeed(const std::string& name, const void* params) {
  DriverCall(name, params).Enter().Exit();
}

class HandlerTest : public testing::Test {
 protected:
  void SetUp() override {
    recorder_.Reset();
    cupti::SetRecorder(recorder_.api());
    ASSERT_TRUE(cupti::OpenAddressMap());
    cupti::ClearKernelHandles();
    cupti::LookUpDriver();
    cupti::SetListening(cupti::Listening::kEverything);
  }
  void TearDown() override { cupti::SetListening(cupti::Listening::kNothing); }

  // The only event, which must be of this op.
  SourceEvent Only(std::uint32_t op) {
    const auto events = recorder_.Events();
    EXPECT_EQ(events.size(), 1u);
    if (events.size() != 1) return {};
    EXPECT_EQ(events[0].op, op);
    return events[0];
  }

  FakeRecorder& recorder_ = FakeRecorder::Get();
};

}  // namespace memprof::cupti_test
