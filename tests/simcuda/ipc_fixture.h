// A second process for tests of IPC.
#pragma once

#include <string>

#include "driver_fixture.h"
#include "peer.h"

namespace memprof::simcuda {

inline const char kPeerSpec[] = "memory=1GiB,overhead=0,devices=2";

class IpcTest : public DriverTest {
 protected:
  CUdeviceptr Filled(size_t bytes, unsigned char value) {
    CUdeviceptr address = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&address, bytes));
    EXPECT_EQ(CUDA_SUCCESS, cuMemsetD8(address, value, bytes));
    return address;
  }
  std::string HandleOf(CUdeviceptr address) {
    CUipcMemHandle handle = {};
    EXPECT_EQ(CUDA_SUCCESS, cuIpcGetMemHandle(&handle, address));
    return Hex(&handle, sizeof(handle));
  }
  unsigned char ByteAt(CUdeviceptr address) {
    unsigned char byte = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&byte, address, 1));
    return byte;
  }
  Peer peer_{kPeerSpec};
};

}  // namespace memprof::simcuda
