// A family: one kind of memory that a program can allocate, how it is allocated and freed, and its
// figures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace memprof::gpu_check {

class Family {
 public:
  virtual ~Family() = default;
  // One-time set-up that is not measured.
  virtual void Prepare() {}
  // Allocates one block of about `bytes`; returns the exact size requested from the driver.
  virtual std::uint64_t Take(std::uint64_t bytes) = 0;
  // Frees all blocks.
  virtual void GiveBack() = 0;
  // Additional figures while all blocks are held: "name": number, ...
  virtual std::string Figures() { return ""; }
};

// Null when there is no such family.
std::unique_ptr<Family> MakeFamily(const std::string& name);

// The families of each file, by name; null for other names.
std::unique_ptr<Family> MakePlainFamily(const std::string& name);
std::unique_ptr<Family> MakePoolFamily(const std::string& name);
std::unique_ptr<Family> MakeMappedFamily(const std::string& name);
std::unique_ptr<Family> MakeSharedFamily(const std::string& name);
std::unique_ptr<Family> MakeMixedFamily(const std::string& name);

}  // namespace memprof::gpu_check
