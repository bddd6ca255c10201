// The devices and their primary contexts.
#include "simcuda/driver/device.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "simcuda/common/config.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/pool.h"
#include "simcuda/driver/shared_devices.h"

namespace memprof::simcuda {

namespace {

SharedDevices* g_group = nullptr;

// Joins the group of processes in the configuration; null if there is none.
SharedDevices* JoinGroup(const std::string& name) {
  if (name.empty()) return nullptr;
  std::string why;
  g_group = SharedDevices::Join(name, &why).release();
  if (g_group == nullptr) {
    std::fprintf(stderr,
                 "SIMCUDA: shared=%s does not work, the devices are this process's own: %s\n",
                 name.c_str(), why.c_str());
  } else {
    // Exit handlers of the program may still allocate: so the figures stay mapped until the kernel
    // unmaps them. Only the name of the object is removed.
    std::atexit([] { g_group->Retire(); });
  }
  return g_group;
}

}  // namespace

Device::Device(int id, uint64_t capacity, uint64_t overhead, std::unique_ptr<CapacityShare> share)
    : id_(id),
      overhead_(overhead),
      memory_(capacity, std::move(share), GlobalConfig(false).upward_addresses) {}

CUresult Device::RetainPrimary(std::shared_ptr<Context>* context) {
  bool created = false;
  {
    const std::lock_guard lock(primary_mutex_);
    if (primary_ == nullptr) {
      primary_ = Context::Create(this, true, primary_flags_);
      if (primary_ == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
      created = true;
    }
    ++primary_count_;
    *context = primary_;
  }
  if (created) (*context)->ReportCreated();
  return CUDA_SUCCESS;
}

CUresult Device::ReleasePrimary() {
  std::shared_ptr<Context> last;
  {
    const std::lock_guard lock(primary_mutex_);
    if (primary_count_ == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary_count_ > 0) return CUDA_SUCCESS;
    last = std::move(primary_);
    primary_ = nullptr;
  }
  if (last != nullptr) last->Destroy();
  return CUDA_SUCCESS;
}

CUresult Device::ResetPrimary() {
  std::shared_ptr<Context> old;
  {
    const std::lock_guard lock(primary_mutex_);
    old = std::move(primary_);
    primary_ = nullptr;
    primary_count_ = 0;
  }
  if (old != nullptr) old->Destroy();
  return CUDA_SUCCESS;
}

void Device::AddGreen(std::shared_ptr<Context> context) {
  const std::lock_guard lock(green_mutex_);
  green_.push_back(std::move(context));
}

std::vector<std::shared_ptr<Context>> Device::TakeGreen() {
  const std::lock_guard lock(green_mutex_);
  return std::exchange(green_, {});
}

CUresult Device::SetPrimaryFlags(unsigned flags) {
  const std::lock_guard lock(primary_mutex_);
  primary_flags_ = flags;
  if (primary_ != nullptr) primary_->flags = flags;
  return CUDA_SUCCESS;
}

void Device::GetPrimaryState(unsigned* flags, bool* active) {
  const std::lock_guard lock(primary_mutex_);
  *flags = primary_flags_;
  *active = primary_ != nullptr;
}

std::shared_ptr<Pool> Device::default_pool() {
  const std::lock_guard lock(pool_mutex_);
  if (default_pool_ == nullptr) default_pool_ = Pool::Create(this);
  return default_pool_;
}

std::shared_ptr<Pool> Device::current_pool() {
  {
    const std::lock_guard lock(pool_mutex_);
    if (current_pool_ != nullptr) return current_pool_;
  }
  return default_pool();
}

void Device::set_current_pool(std::shared_ptr<Pool> pool) {
  const std::lock_guard lock(pool_mutex_);
  current_pool_ = std::move(pool);
}

const std::vector<Device*>& Devices() {
  static const auto* devices = [] {
    const Config& config = GlobalConfig(true);
    auto* made = new std::vector<Device*>;
    SharedDevices* group = JoinGroup(config.shared);
    for (int id = 0; id < config.devices; ++id) {
      made->push_back(new Device(id, config.memory_bytes, config.overhead_bytes,
                                 group == nullptr ? nullptr : MakeShare(group, id)));
    }
    return made;
  }();
  return *devices;
}

Device* FindDevice(int ordinal) {
  const auto& devices = Devices();
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size()) return nullptr;
  return devices[static_cast<size_t>(ordinal)];
}

}  // namespace memprof::simcuda
