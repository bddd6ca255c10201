// Runs the toy program on simulated memory, and writes its log.
#include "tests/support/toy_program.h"

#include <algorithm>
#include <memory>
#include <random>

namespace memprof::analysis::testing {
namespace {

namespace sim = allocators;

// One run of the program.
class Toy {
 public:
  Toy(const ToyProgram& program, std::uint64_t batch, LogBuilder* log, std::uint64_t capacity)
      : program_(program), batch_(batch), log_(log), device_(capacity), allocator_({}, &device_) {}

  ToyPeaks Run() {
    if (log_ != nullptr) log_->Device(0, std::uint64_t{1} << 40);
    std::uint64_t outside = program_.outside_fixed + program_.outside_per_unit * batch_;
    if (outside > 0) {
      if (log_ != nullptr) log_->Alloc(Layer::kLinear, std::uint64_t{1} << 50, outside);
      device_.SetOutside(outside);
      outside_ = outside;
    }
    for (int step = 0; step < program_.steps && !peaks_.failed; ++step) {
      if (log_ != nullptr) log_->Step(static_cast<std::uint64_t>(step));
      Step();
    }
    return peaks_;
  }

 private:
  struct Live {
    sim::Handle handle = sim::kNoHandle;
    std::uint64_t address = 0, bytes = 0;
    std::size_t dies_at = 0;  // freed when this number of requests have been made
  };

  void Step() {
    for (const ToyRequest& request : program_.requests) {
      FreeDue();
      if (request.only_above && batch_ <= 10) continue;
      Request(request);
      if (peaks_.failed) return;
    }
    now_ += 1'000'000;  // requests that live until the end of the step are freed here
    FreeDue();
    if (program_.empties) Empty();
  }

  void FreeDue() {
    for (std::size_t i = 0; i < live_.size();) {
      if (live_[i].dies_at > now_) {
        ++i;
        continue;
      }
      Free(live_[i]);
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void Request(const ToyRequest& request) {
    const auto b = static_cast<double>(batch_);
    const double value = request.per_square * b * b + request.per_unit * b + request.fixed;
    const auto bytes = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(value));
    Live live;
    live.bytes = bytes;
    live.dies_at = now_ + static_cast<std::size_t>(request.lives);
    ++now_;
    int site = 0;
    if (log_ != nullptr) {
      site = log_->Stack({"main (a.cc:1)", "F" + std::to_string(request.site) + " (f.cc:2)"});
    }
    program_.caching ? RequestBlock(site, &live) : RequestDriver(site, &live);
    if (peaks_.failed) return;
    requested_ += bytes;
    peaks_.requested = std::max(peaks_.requested, requested_);
    peaks_.driver = std::max(
        peaks_.driver, outside_ + (program_.caching ? allocator_.figures().reserved : requested_));
    peaks_.reserved = allocator_.figures().peak_reserved;
    live_.push_back(live);
  }

  void RequestBlock(int site, Live* live) {
    const std::uint64_t segments = allocator_.figures().segments;
    live->handle = allocator_.Allocate(live->bytes, 0);
    if (live->handle == sim::kNoHandle) {
      peaks_.failed = true;
      return;
    }
    const sim::Place place = allocator_.PlaceOf(live->handle);
    live->address = place.address;
    if (log_ == nullptr) return;
    if (allocator_.figures().segments > segments) {  // the block is the first of a new segment
      const std::uint64_t size =
          sim::CachingSegmentBytes(place.bytes <= (1 << 20) ? 1 : live->bytes);
      log_->Alloc(Layer::kLinear, place.address, size, {.stack = site});
      log_->Alloc(Layer::kSegment, place.address, size, {.stack = site});
      segments_.push_back({place.address, size});
    }
    log_->Alloc(Layer::kBlock, place.address, place.bytes,
                {.stack = site, .aux0 = program_.asked ? live->bytes : 0});
  }

  void RequestDriver(int site, Live* live) {
    live->address = next_address_;
    next_address_ += (live->bytes + 511) / 512 * 512;
    if (log_ != nullptr) log_->Alloc(Layer::kLinear, live->address, live->bytes, {.stack = site});
  }

  void Free(const Live& live) {
    requested_ -= live.bytes;
    if (log_ != nullptr) {
      log_->Free(program_.caching ? Layer::kBlock : Layer::kLinear, live.address);
    }
    if (program_.caching) allocator_.Free(live.handle);
  }

  // Frees segments without live blocks.
  void Empty() {
    allocator_.EmptyCache();
    std::erase_if(segments_, [this](const std::pair<std::uint64_t, std::uint64_t>& segment) {
      const auto [address, size] = segment;
      for (const Live& live : live_) {
        if (live.address >= address && live.address < address + size) return false;
      }
      if (log_ != nullptr) {
        log_->Free(Layer::kSegment, address);
        log_->Free(Layer::kLinear, address);
      }
      return true;
    });
  }

  const ToyProgram& program_;
  const std::uint64_t batch_;
  LogBuilder* log_;
  sim::Device device_;
  sim::CachingAllocator allocator_;
  ToyPeaks peaks_;
  std::vector<Live> live_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> segments_;
  std::uint64_t requested_ = 0, outside_ = 0, next_address_ = 0x10000;
  std::size_t now_ = 1;
};

}  // namespace

ToyProgram ToyProgram::Random(std::uint32_t seed, bool quadratic) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  ToyProgram program;
  const std::size_t count = 10 + below(40);
  for (std::size_t i = 0; i < count; ++i) {
    ToyRequest request;
    request.site = static_cast<int>(below(12));
    if (below(3) > 0) request.per_unit = static_cast<double>(below(400'000));
    if (below(2) > 0) request.fixed = static_cast<double>(below(3'000'000));
    if (quadratic && below(4) == 0) request.per_square = static_cast<double>(1 + below(2000));
    request.lives = static_cast<int>(1 + below(20));
    program.requests.push_back(request);
  }
  return program;
}

ToyPeaks RunToy(const ToyProgram& program, std::uint64_t batch, LogBuilder* log,
                std::uint64_t capacity) {
  return Toy(program, batch, log, capacity).Run();
}

}  // namespace memprof::analysis::testing
