// One pass; objects that are met for the first time are added at the end and visited later.
#include "holders/src/object_graph.h"

namespace memprof::holders {
namespace {

constexpr std::uint32_t kAhead = 16;  // memory is fetched into the cache before it is used

bool IsContainer(PyObject* object) {
  const auto flags = FieldAt<unsigned long>(TypeOf(object), kOfTypeFlags);
  return (flags & kFlagHasGc) != 0 && PyObject_IS_GC(object) != 0;
}

}  // namespace

int ObjectGraph::OnEdge(PyObject* target, void* graph) {
  return static_cast<ObjectGraph*>(graph)->Meet(target);
}

// Not 0 ends the visit of an object.
int ObjectGraph::Meet(PyObject* target) {
  table_.Prefetch(target);
  __builtin_prefetch(target);
  pending_[pending_count_++] = {visited_, target};
  if (pending_count_ == kMostPending) AddPending();
  return outcome_ == Outcome::kOk ? 0 : 1;
}

void ObjectGraph::AddPending() {
  for (int i = 0; i < pending_count_; ++i) AddEdge(pending_[i]);
  pending_count_ = 0;
}

void ObjectGraph::AddEdge(const Pending& edge) {
  std::uint32_t id = table_.Find(edge.target);
  if (id == kNone) {
    if (!IsContainer(edge.target)) return;
    id = table_.Add(edge.target);
    if (id == kNone) outcome_ = Outcome::kFull;
  }
  if (outcome_ != Outcome::kOk) return;
  while (begin_.size() <= edge.from)  // also of objects without edges
    if (!begin_.Push(static_cast<std::uint32_t>(edges_.size()))) outcome_ = Outcome::kNoMemory;
  if (!edges_.Push(id)) outcome_ = Outcome::kNoMemory;
}

void ObjectGraph::CountEdges() {
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (i + kAhead < edges_.size()) __builtin_prefetch(&seen_[edges_[i + kAhead]]);
    ++seen_[edges_[i]];
  }
}

void ObjectGraph::Visit(std::uint32_t id, const RunningFrames& running) {
  PyObject* object = table_[id];
  visited_ = id;
  if (id < frames_end_) {
    const std::int64_t count = PyLong_AsLongLong(PyList_GetItem(running.counts, id));
    for (std::int64_t i = 0; i < count; ++i)
      if (PyObject* local = running.locals.At(object, i)) Meet(local);
    return;
  }
  if (object == all_) return;  // its references are those that UnseenReferences subtracts
  const auto traverse = FieldAt<Traverse>(TypeOf(object), kOfTypeTraverse);
  if (traverse != nullptr) traverse(object, OnEdge, this);
}

Outcome ObjectGraph::Build(PyObject* all, const RunningFrames& running, std::size_t spare) {
  all_ = all;
  const std::ptrdiff_t listed = PyList_Size(all);
  const std::ptrdiff_t frames = PyList_Size(running.frames);
  const std::size_t most = static_cast<std::size_t>(listed + frames) + spare;
  if (!table_.Create(most) || !seen_.Create(most)) return Outcome::kNoMemory;
  for (std::ptrdiff_t i = 0; i < frames; ++i) table_.Add(PyList_GetItem(running.frames, i));
  frames_end_ = size();
  for (std::ptrdiff_t i = 0; i < listed; ++i) table_.Add(PyList_GetItem(all, i));
  listed_end_ = size();
  for (std::uint32_t id = 0; outcome_ == Outcome::kOk; ++id) {
    if (id == size()) AddPending();  // which may add objects
    if (id == size()) break;
    if (id + kAhead < size()) __builtin_prefetch(table_[id + kAhead]);
    Visit(id, running);
  }
  while (outcome_ == Outcome::kOk && begin_.size() <= size())
    if (!begin_.Push(static_cast<std::uint32_t>(edges_.size()))) outcome_ = Outcome::kNoMemory;
  if (outcome_ == Outcome::kOk) CountEdges();
  return outcome_;
}

}  // namespace memprof::holders
