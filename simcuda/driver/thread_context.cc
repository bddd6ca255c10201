// The contexts of each thread, and its default streams.
#include "simcuda/driver/context.h"

namespace memprof::simcuda {
namespace {

// The state of a thread: its stack of contexts, and its own default streams. A plain pointer,
// because exit handlers still use it after destructors ran.
struct ThreadState {
  std::vector<std::shared_ptr<Context>> stack;
  std::vector<std::pair<std::shared_ptr<Context>, std::shared_ptr<Stream>>> streams;
};
thread_local ThreadState* t_state = nullptr;

struct ThreadStateOwner {
  bool used = false;
  ~ThreadStateOwner() {
    if (t_state == nullptr) return;
    for (const auto& [context, stream] : t_state->streams) context->RetireStream(stream);
    delete t_state;
    t_state = nullptr;
  }
};
thread_local ThreadStateOwner t_owner;

ThreadState& MyState() {
  if (t_state == nullptr) {
    t_state = new ThreadState;
    t_owner.used = true;
  }
  return *t_state;
}

}  // namespace

std::shared_ptr<Stream> Context::ThreadStream() {
  auto& mine = MyState().streams;
  for (const auto& [context, stream] : mine) {
    if (context.get() == this) return stream;
  }
  std::erase_if(mine, [](const auto& entry) { return !entry.first->alive(); });
  const std::lock_guard lock(order_mutex_);
  auto stream = std::make_shared<Stream>(Stream::Kind::kPerThread, next_stream_++, this, 0, 0);
  streams_.push_back(stream);
  mine.emplace_back(shared_from_this(), stream);
  return stream;
}

std::shared_ptr<Context> CurrentContext() {
  return t_state == nullptr || t_state->stack.empty() ? nullptr : t_state->stack.back();
}

void SetCurrentContext(std::shared_ptr<Context> context) {
  auto& stack = MyState().stack;
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(std::move(context));
}

void PushContext(std::shared_ptr<Context> context) {
  MyState().stack.push_back(std::move(context));
}

std::shared_ptr<Context> PopContext() {
  auto& stack = MyState().stack;
  if (stack.empty()) return nullptr;
  auto top = std::move(stack.back());
  stack.pop_back();
  return top;
}

CUresult RequireContext(std::shared_ptr<Context>* context) {
  *context = CurrentContext();
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return (*context)->alive() ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult RequireStream(CUstream handle, std::shared_ptr<Context>* context,
                       std::shared_ptr<Stream>* stream) {
  const bool is_default =
      handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
  if (is_default) {
    const CUresult result = RequireContext(context);
    if (result != CUDA_SUCCESS) return result;
    *stream = (*context)->ResolveStream(handle);
    return CUDA_SUCCESS;
  }
  *stream = AllHandles<Stream>().Find(handle);
  if (*stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *context = (*stream)->context()->shared_from_this();
  return CUDA_SUCCESS;
}

}  // namespace memprof::simcuda
