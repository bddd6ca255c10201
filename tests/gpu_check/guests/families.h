// One kind of memory that a program can ask for: how it is taken and given back, and what it comes
// to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace memprof::gpu_check {

class Family {
 public:
  virtual ~Family() = default;
  // What is needed once; not measured.
  virtual void Prepare() {}
  // Takes one block of about `bytes`; returns exactly what was asked of the driver.
  virtual std::uint64_t Take(std::uint64_t bytes) = 0;
  // Gives all back.
  virtual void GiveBack() = 0;
  // Further figures of the moment at which all is held: "name": number, ...
  virtual std::string Figures() { return ""; }
};

// Null when there is no such family.
std::unique_ptr<Family> MakeFamily(const std::string& name);

// The families of one file each, by name; null for others.
std::unique_ptr<Family> MakePlainFamily(const std::string& name);
std::unique_ptr<Family> MakePoolFamily(const std::string& name);
std::unique_ptr<Family> MakeMappedFamily(const std::string& name);
std::unique_ptr<Family> MakeSharedFamily(const std::string& name);
std::unique_ptr<Family> MakeMixedFamily(const std::string& name);

}  // namespace memprof::gpu_check
