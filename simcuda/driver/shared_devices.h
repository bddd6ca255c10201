// Devices that several processes share: how much of each device the other processes use.
//
// Processes that name the same group (SIMCUDA=shared=NAME) store their figures in a small shared
// memory object, in one slot each. The kernel shows which are alive: every process holds a record
// lock on a byte of its own, which ends with the process in any case; slots without a lock do not
// count. So no figure outlives its process, and nothing needs repair.
#ifndef SIMCUDA_DRIVER_SHARED_DEVICES_H
#define SIMCUDA_DRIVER_SHARED_DEVICES_H

#include <cstdint>
#include <memory>
#include <string>

#include "simcuda/driver/device_memory.h"

namespace memprof::simcuda {

// Thread-safe; one per process and group, since record locks belong to the process.
class SharedDevices {
 public:
  static constexpr int kMaxDevices = 64;
  static constexpr int kMaxProcesses = 128;

  // Joins the group. Null, with the reason in *why, if the object cannot be created or all slots
  // are taken. `name` is valid by ValidGroupName.
  static std::unique_ptr<SharedDevices> Join(const std::string& name, std::string* why);
  // Leaves the group; the last one removes the object.
  ~SharedDevices();
  SharedDevices(const SharedDevices&) = delete;
  SharedDevices& operator=(const SharedDevices&) = delete;

  // Excludes the other processes for one device; calls do not nest.
  void Lock(int device);
  void Unlock(int device);
  // Bytes that the live other processes use of the device.
  uint64_t Others(int device) const;
  // Removes the object if no other process is in the group; the figures of this process stay
  // readable.
  void Retire();
  // Publishes the use of this process.
  void Publish(int device, uint64_t bytes);

  // The name of the object, with a leading slash: under /dev/shm, or if that does not work under
  // $TMPDIR or /tmp.
  const std::string& object() const { return object_; }

 private:
  struct Region;
  SharedDevices() = default;
  bool Open(std::string* why);
  bool TakeSlot();
  bool Alive(int slot) const;
  bool Alone() const;

  std::string object_;
  int descriptor_ = -1;
  int process_ = 0;
  int slot_ = -1;
  Region* region_ = nullptr;
};

// The object's name for a group: of the user, and for "@group" of the process group.
std::string GroupObject(const std::string& name);

// Leaves an empty object for the launcher of the group (kLauncherGroup), named by the group and
// this name.
void LeaveNote(const std::string& group, const std::string& note);

// The part of a SharedDevices that one device's memory needs. `devices` must outlive it.
std::unique_ptr<CapacityShare> MakeShare(SharedDevices* devices, int device);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_SHARED_DEVICES_H
