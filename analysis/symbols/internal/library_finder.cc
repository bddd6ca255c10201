// Reads each stack once, and caches which frames indicate a library.
#include "analysis/symbols/internal/library_finder.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>

namespace memprof::analysis {
namespace {

bool LiesInPool(Layer layer) { return layer == Layer::kBlock || layer == Layer::kTensor; }

}  // namespace

struct LibraryFinder::Memory {
  std::mutex mutex;
  std::vector<std::optional<Library>> known;   // by stack
  std::vector<bool> in_pool;                   // by stack
  std::vector<std::optional<bool>> indicates;  // by frame: whether it indicates a library
};

LibraryFinder::LibraryFinder(const Session& session, Symbols& symbols)
    : session_(session), symbols_(symbols), memory_(std::make_unique<Memory>()) {
  memory_->known.resize(session.stack_count());
  memory_->in_pool.resize(session.stack_count());
  memory_->indicates.resize(session.frame_count());
  for (const AllocationRecord& record : session.records())
    if (record.stack.valid() && record.stack.value < memory_->in_pool.size() &&
        LiesInPool(record.layer))
      memory_->in_pool[record.stack.value] = true;
}
LibraryFinder::~LibraryFinder() = default;

Library LibraryFinder::Of(StackId stack) {
  if (!stack.valid() || stack.value >= memory_->known.size()) return {};
  const std::vector<FrameId> ids = session_.StackFrames(stack);
  bool indicates = false;
  {
    const std::lock_guard lock(memory_->mutex);
    if (memory_->known[stack.value]) return *memory_->known[stack.value];
    for (const FrameId id : ids) indicates |= memory_->indicates[id.value].value_or(true);
  }
  const Library found = indicates ? Read(ids, memory_->in_pool[stack.value]) : Library();
  const std::lock_guard lock(memory_->mutex);
  memory_->known[stack.value] = found;
  return found;
}

Library LibraryFinder::Read(const std::vector<FrameId>& ids, bool in_pool) {
  std::vector<LibraryFrame> frames;
  std::vector<std::size_t> ends;
  for (const FrameId id : ids) {
    Append(id, &frames);
    ends.push_back(frames.size());
  }
  const Library found = LibraryOfFrames(frames, in_pool);
  const std::lock_guard lock(memory_->mutex);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ids.size(); begin = ends[i++]) {
    std::optional<bool>& known = memory_->indicates[ids[i].value];
    if (known) continue;
    const auto of_frame = std::span(frames).subspan(begin, ends[i] - begin);
    known = std::any_of(of_frame.begin(), of_frame.end(), IndicatesLibrary);
  }
  return found;
}

void LibraryFinder::Append(FrameId id, std::vector<LibraryFrame>* frames) const {
  const std::uint32_t module = session_.frame(id).module;
  const std::string_view path = module < session_.modules().size()
                                    ? std::string_view(session_.modules()[module].path)
                                    : std::string_view();
  for (const SourceFrame& frame : symbols_.Resolve(id))  // stays where it is: a cache
    frames->push_back({frame.function, frame.file, path, frame.python});
}

}  // namespace memprof::analysis
