// Contexts and their streams. The current context of each thread: thread_context.cc.
#include "simcuda/driver/context.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "simcuda/driver/allocation.h"
#include "simcuda/driver/api_call.h"
#include "simcuda/driver/array.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/event.h"
#include "simcuda/driver/graph_memory.h"
#include "simcuda/driver/module.h"
#include "simcuda/driver/resource_ids.h"
#include "simcuda/driver/texture.h"

namespace memprof::simcuda {
namespace {

std::atomic<uint32_t> g_next_uid{1};

// Keeps destroyed contexts: streams and allocations may still refer to them.
void KeepDestroyed(std::shared_ptr<Context> context) {
  static auto* mutex = new std::mutex;
  static auto* kept = new std::vector<std::shared_ptr<Context>>;
  const std::lock_guard lock(*mutex);
  kept->push_back(std::move(context));
}

}  // namespace

Context::Context(Device* device, bool primary, unsigned context_flags)
    : flags(context_flags),
      device_(device),
      uid_(g_next_uid++),
      primary_(primary),
      limits_(&device->memory()),
      code_(&device->memory()) {
  legacy_ = std::make_shared<Stream>(Stream::Kind::kLegacy, 1, this, 0, 0);
  streams_.push_back(legacy_);
}

std::shared_ptr<Context> Context::Create(Device* device, bool primary, unsigned flags) {
  if (!device->memory().Charge(Use::kContext, device->context_overhead())) return nullptr;
  auto context = std::make_shared<Context>(device, primary, flags);
  AllHandles<Context>().Add(context);
  return context;
}

std::shared_ptr<Context> Context::CreateGreen(Device* device) {
  auto context = std::make_shared<Context>(device, false, 0);
  context->green_ = true;
  AllHandles<Context>().Add(context);
  device->AddGreen(context);
  return context;
}

void Context::ReportCreated() {
  simcuda_resource_event event = {};
  event.cbid = kResourceContextCreated;
  event.context = this;
  event.context_uid = uid_;
  ReportResource(event);
}

void Context::Destroy() {
  if (destroying_.exchange(true)) return;
  if (primary_) {
    for (const auto& green : device_->TakeGreen()) green->Destroy();
  }
  simcuda_resource_event event = {};
  event.cbid = kResourceContextDestroyStarting;
  event.context = this;
  event.context_uid = uid_;
  // The handle is still valid, so that the listener may query the context.
  ReportResource(event);
  const auto self = shared_from_this();
  AllHandles<Context>().Remove(this);
  Synchronize();
  alive_ = false;
  UnloadModulesOf(this);
  code_.Clear();
  limits_.Clear();
  AllHandles<Event>().RemoveIf([this](const Event& made) { return made.context() == this; });
  AllHandles<Stream>().RemoveIf([this](const Stream& made) { return made.context() == this; });
  FreeAllocationsOf(uid_);
  if (primary_) GraphMemory::Get().Reset(device_);
  FreeTexturesOf(this);
  FreeGraphicsOf(this);
  FreeArraysOf(this);
  {
    const std::lock_guard lock(order_mutex_);
    streams_.clear();
  }
  if (!green_) device_->memory().Refund(Use::kContext, device_->context_overhead());
  KeepDestroyed(self);
}

void Context::ReportStream(uint32_t cbid, const std::shared_ptr<Stream>& stream) {
  simcuda_resource_event event = {};
  event.cbid = cbid;
  event.context = this;
  event.context_uid = uid_;
  event.stream = stream.get();
  ReportResource(event);
}

std::shared_ptr<Stream> Context::ResolveStream(CUstream handle) {
  if (handle == nullptr) return UsesPerThreadDefaultStream() ? ThreadStream() : legacy_;
  if (handle == CU_STREAM_LEGACY) return legacy_;
  if (handle == CU_STREAM_PER_THREAD) return ThreadStream();
  auto stream = AllHandles<Stream>().Find(handle);
  if (stream == nullptr || stream->context() != this) return nullptr;
  return stream;
}

std::shared_ptr<Stream> Context::CreateStream(unsigned stream_flags, int priority) {
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(order_mutex_);
    stream = std::make_shared<Stream>(Stream::Kind::kCreated, next_stream_++, this, stream_flags,
                                      priority);
    streams_.push_back(stream);
  }
  AllHandles<Stream>().Add(stream);
  ReportStream(kResourceStreamCreated, stream);
  return stream;
}

void Context::RetireStream(const std::shared_ptr<Stream>& stream) {
  if (stream->kind() == Stream::Kind::kCreated) {
    ReportStream(kResourceStreamDestroyStarting, stream);
    AllHandles<Stream>().Remove(stream.get());
  }
  const std::lock_guard lock(order_mutex_);
  // Its work still counts for the legacy stream and for Synchronize.
  if (stream->Idle()) {
    std::erase(streams_, stream);
  } else {
    stream->set_retired();
  }
}

void Context::Enqueue(const std::shared_ptr<Stream>& stream, std::function<void()> work,
                      Stream::Mode mode, std::vector<StreamPoint> after) {
  std::unique_lock order(order_mutex_);
  if (stream == legacy_) {
    for (const auto& other : streams_) {
      if (other != legacy_ && other->blocking() && !other->Idle()) after.push_back(other->Last());
    }
  } else if (stream->blocking() && !legacy_->Idle()) {
    after.push_back(legacy_->Last());
  }
  stream->Enqueue(std::move(work), std::move(after), mode, std::move(order));
}

std::vector<std::shared_ptr<Stream>> Context::LiveStreams() {
  const std::lock_guard lock(order_mutex_);
  std::erase_if(streams_, [](const auto& stream) { return stream->retired() && stream->Idle(); });
  return streams_;
}

void Context::Synchronize() {
  if (OnStreamWorker()) return;
  for (const auto& stream : LiveStreams()) {
    if (!stream->Idle()) stream->Last().Wait();
  }
}

bool Context::Idle() {
  const auto streams = LiveStreams();
  return std::all_of(streams.begin(), streams.end(),
                     [](const auto& stream) { return stream->Idle(); });
}

bool Context::IdleWhileHeld() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const auto& stream) { return stream->Idle(); });
}

bool WhileIdle(const std::function<void()>& body) {
  auto contexts = AllHandles<Context>().Select([](const Context&) { return true; });
  std::sort(contexts.begin(), contexts.end(),
            [](const auto& one, const auto& other) { return one->uid() < other->uid(); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (true) {
    std::vector<std::unique_lock<std::mutex>> held;
    for (const auto& context : contexts) held.push_back(context->HoldWork());
    if (std::all_of(contexts.begin(), contexts.end(),
                    [](const auto& context) { return context->IdleWhileHeld(); })) {
      body();
      return true;
    }
    held.clear();
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

bool Context::BlockingIdle() {
  const auto streams = LiveStreams();
  return std::all_of(streams.begin(), streams.end(),
                     [](const auto& stream) { return !stream->blocking() || stream->Idle(); });
}

bool Context::EnablePeer(uint32_t uid) {
  const std::lock_guard lock(peers_mutex_);
  return peers_.insert(uid).second;
}

bool Context::DisablePeer(uint32_t uid) {
  const std::lock_guard lock(peers_mutex_);
  return peers_.erase(uid) != 0;
}

}  // namespace memprof::simcuda
