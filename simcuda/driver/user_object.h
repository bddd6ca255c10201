// User objects: objects of the program that graphs own, with a callback for their end.
#ifndef SIMCUDA_DRIVER_USER_OBJECT_H
#define SIMCUDA_DRIVER_USER_OBJECT_H

#include <atomic>
#include <memory>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

// Counts references; the last one calls the program. Thread-safe.
class UserObject {
 public:
  UserObject(void* data, CUhostFn destroy, unsigned references)
      : data_(data), destroy_(destroy), references_(references) {}
  void Retain(unsigned count) { references_ += count; }
  // False if there are fewer. The caller destroys the handle if none is left.
  bool Release(unsigned count);
  bool dead() const { return references_.load() == 0; }

 private:
  void* const data_;
  const CUhostFn destroy_;
  std::atomic<unsigned> references_;
};

// A number of references, which are released by the destructor.
class UserReferences {
 public:
  // Takes over references that were retained before.
  UserReferences(std::shared_ptr<UserObject> object, unsigned count)
      : object_(std::move(object)), count_(count) {}
  UserReferences(const UserReferences&) = delete;
  UserReferences& operator=(const UserReferences&) = delete;
  ~UserReferences();
  const UserObject* object() const { return object_.get(); }

 private:
  const std::shared_ptr<UserObject> object_;
  const unsigned count_;
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_USER_OBJECT_H
