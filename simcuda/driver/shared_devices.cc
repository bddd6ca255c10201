// The object in shared memory and its locks.
#include "simcuda/driver/shared_devices.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace memprof::simcuda {

// A region of zeros is valid and empty.
struct SharedDevices::Region {
  static constexpr uint64_t kMagic = 0x3144564448535543;  // distinguishes versions of the layout
  struct Slot {
    std::atomic<int64_t> process;
    std::atomic<uint64_t> used[kMaxDevices];
  };
  std::atomic<uint64_t> magic;
  Slot slots[kMaxProcesses];
};

namespace {

// Bytes of the object that are locked; what they hold does not matter.
constexpr off_t kMembership = 0;
constexpr off_t kFirstDevice = 1;
constexpr off_t kFirstProcess = kFirstDevice + SharedDevices::kMaxDevices;

struct flock Record(short type, off_t byte) {
  struct flock record = {};
  record.l_type = type;
  record.l_whence = SEEK_SET;
  record.l_start = byte;
  record.l_len = 1;
  return record;
}

bool LockByte(int descriptor, off_t byte) {
  struct flock record = Record(F_WRLCK, byte);
  while (fcntl(descriptor, F_SETLKW, &record) != 0) {
    // The kernel detects deadlocks between processes, not threads: two threads of each on two
    // devices may look like a deadlock, and are none.
    if (errno != EINTR && errno != EDEADLK) return false;
    if (errno == EDEADLK) usleep(100);
  }
  return true;
}

void UnlockByte(int descriptor, off_t byte) {
  struct flock record = Record(F_UNLCK, byte);
  fcntl(descriptor, F_SETLK, &record);
}

// Without shared memory: a file, which can be mapped and shared as well.
std::string FileOf(const std::string& object) {
  const char* folder = std::getenv("TMPDIR");
  return (folder != nullptr && folder[0] == '/' ? folder : "/tmp") + object;
}

int OpenObject(const std::string& object) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  const int descriptor = shm_open(object.c_str(), kFlags, 0600);
  return descriptor >= 0 ? descriptor : open(FileOf(object).c_str(), kFlags, 0600);
}

void RemoveObject(const std::string& object) {
  if (shm_unlink(object.c_str()) != 0) unlink(FileOf(object).c_str());
}

class Share : public CapacityShare {
 public:
  Share(SharedDevices* devices, int device) : devices_(devices), device_(device) {}
  void Lock() override { devices_->Lock(device_); }
  void Unlock() override { devices_->Unlock(device_); }
  uint64_t Others() const override { return devices_->Others(device_); }
  void Publish(uint64_t bytes) override { devices_->Publish(device_, bytes); }

 private:
  SharedDevices* const devices_;
  const int device_;
};

}  // namespace

std::string GroupObject(const std::string& name) {
  const std::string group = name == "@group" ? "group." + std::to_string(getpgrp()) : name;
  return "/simcuda." + std::to_string(geteuid()) + "." + group;
}

void LeaveNote(const std::string& group, const std::string& note) {
  const int descriptor = OpenObject(GroupObject(group) + "." + note);
  if (descriptor >= 0) close(descriptor);
}

std::unique_ptr<CapacityShare> MakeShare(SharedDevices* devices, int device) {
  return std::make_unique<Share>(devices, device);
}

bool SharedDevices::Open(std::string* why) {
  // The last process to leave removes the object; a process that has joined a removed object is
  // alone, so it tries again.
  for (int attempt = 0; attempt < 100; ++attempt) {
    descriptor_ = OpenObject(object_);
    if (descriptor_ < 0) {
      *why = std::strerror(errno);
      return false;
    }
    struct stat status;
    if (!LockByte(descriptor_, kMembership) || fstat(descriptor_, &status) != 0) {
      *why = std::strerror(errno);
      return false;
    }
    if (status.st_nlink != 0) {
      if (status.st_uid != geteuid() || !S_ISREG(status.st_mode) || (status.st_mode & 077) != 0) {
        *why = "it belongs to another user, or other users can access it";
        return false;
      }
      const auto bytes = static_cast<off_t>(sizeof(Region));
      if (status.st_size == bytes || (status.st_size == 0 && ftruncate(descriptor_, bytes) == 0)) {
        return true;
      }
      *why = "it is of another kind";
      return false;
    }
    close(descriptor_);
    descriptor_ = -1;
  }
  *why = "other processes remove it repeatedly";
  return false;
}

std::unique_ptr<SharedDevices> SharedDevices::Join(const std::string& name, std::string* why) {
  std::unique_ptr<SharedDevices> joined(new SharedDevices);
  joined->object_ = GroupObject(name);
  joined->process_ = getpid();
  if (!joined->Open(why)) return nullptr;
  void* mapping =
      mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, joined->descriptor_, 0);
  if (mapping == MAP_FAILED) {
    *why = std::strerror(errno);
    return nullptr;
  }
  joined->region_ = static_cast<Region*>(mapping);
  uint64_t blank = 0;
  if (!joined->region_->magic.compare_exchange_strong(blank, Region::kMagic) &&
      blank != Region::kMagic) {
    *why = "it is of another kind";
    return nullptr;
  }
  if (!joined->TakeSlot()) {
    *why = "too many processes";
    return nullptr;
  }
  UnlockByte(joined->descriptor_, kMembership);
  return joined;
}

// Under the membership lock.
bool SharedDevices::TakeSlot() {
  for (int i = 0; i < kMaxProcesses; ++i) {
    if (Alive(i)) continue;
    Region::Slot& slot = region_->slots[i];
    for (auto& used : slot.used) used = 0;
    slot.process = process_;
    struct flock record = Record(F_WRLCK, kFirstProcess + i);
    if (fcntl(descriptor_, F_SETLK, &record) != 0) continue;
    slot_ = i;
    return true;
  }
  return false;
}

bool SharedDevices::Alive(int slot) const {
  struct flock record = Record(F_WRLCK, kFirstProcess + slot);
  return fcntl(descriptor_, F_GETLK, &record) == 0 && record.l_type != F_UNLCK;
}

bool SharedDevices::Alone() const {
  for (int i = 0; i < kMaxProcesses; ++i) {
    if (i != slot_ && Alive(i)) return false;
  }
  return true;
}

void SharedDevices::Retire() {
  // A forked child has no locks, and must not change the region.
  if (process_ != getpid() || slot_ < 0) return;
  if (LockByte(descriptor_, kMembership) && Alone()) RemoveObject(object_);
  UnlockByte(descriptor_, kMembership);
}

SharedDevices::~SharedDevices() {
  Retire();
  if (region_ != nullptr) munmap(region_, sizeof(Region));
  if (descriptor_ >= 0) close(descriptor_);  // this also releases all locks
}

void SharedDevices::Lock(int device) { LockByte(descriptor_, kFirstDevice + device); }

void SharedDevices::Unlock(int device) { UnlockByte(descriptor_, kFirstDevice + device); }

uint64_t SharedDevices::Others(int device) const {
  uint64_t bytes = 0;
  for (int i = 0; i < kMaxProcesses; ++i) {
    const Region::Slot& slot = region_->slots[i];
    if (i == slot_ || slot.process.load() == 0) continue;
    const uint64_t used = slot.used[device].load();
    if (used != 0 && Alive(i)) bytes += used;
  }
  return bytes;
}

void SharedDevices::Publish(int device, uint64_t bytes) {
  region_->slots[slot_].used[device].store(bytes);
}

}  // namespace memprof::simcuda
