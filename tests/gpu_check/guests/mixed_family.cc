// Several families at the same time: the ledger of the device must add up over all of them.
#include <map>

#include "driver.h"
#include "families.h"

namespace memprof::gpu_check {
namespace {

constexpr struct {
  const char* family;
  const char* layer;  // name in memprof's log
} kParts[] = {{"linear", "linear"},
              {"pitched", "pitched"},
              {"array", "array"},
              {"managed", "managed"},
              {"stream-ordered", "stream-ordered"},
              {"vmm", "vmm"},
              {"graph", "graph"}};

// Parts that this device does not support are skipped.
class Mixed : public Family {
  void Prepare() override {
    for (const auto& part : kParts) {
      std::unique_ptr<Family> family = MakeFamily(part.family);
      try {
        family->Prepare();
        family->Take(1 << 21);
        family->GiveBack();
        parts_.push_back({part.layer, std::move(family)});
      } catch (const Skipped&) {
      }
    }
  }
  std::uint64_t Take(std::uint64_t bytes) override {
    std::uint64_t sum = 0;
    for (Part& part : parts_) {
      const std::uint64_t asked = part.family->Take(bytes);
      part.asked += asked;
      sum += asked;
    }
    return sum;
  }
  void GiveBack() override {
    for (Part& part : parts_) part.family->GiveBack();
    for (Part& part : parts_) part.asked = 0;
  }
  std::string Figures() override {
    std::string text;
    for (const Part& part : parts_)
      text += (text.empty() ? "\"" : ",\"") + part.layer + "\":" + std::to_string(part.asked);
    return "\"layers\":{" + text + "}";
  }

  struct Part {
    std::string layer;
    std::unique_ptr<Family> family;
    std::uint64_t asked = 0;
  };
  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<Family> MakeMixedFamily(const std::string& name) {
  return name == "mixed" ? std::make_unique<Mixed>() : nullptr;
}

}  // namespace memprof::gpu_check
