// One pass; objects that are met for the first time are added at the end and visited later.
#include "holders/src/object_graph.h"

#include "holders/src/collector_list.h"

namespace memprof::holders {
namespace {

constexpr std::size_t kPatience = 16;
constexpr std::uint32_t kAhead = 40;  // memory is fetched into the cache before it is used

bool MayBeContainer(const PyObject* object) {
  return (FieldAt<unsigned long>(TypeOf(object), kOfTypeFlags) & kFlagHasGc) != 0;
}
bool IsContainer(PyObject* object) { return MayBeContainer(object) && PyObject_IS_GC(object) != 0; }

// NumPy's PyArrayObject_fields and PyArray_Descr (numpy/ndarraytypes.h), the same in NumPy 1 and 2.
constexpr std::size_t kOfArrayData = 16, kOfArrayRank = 24, kOfArrayShape = 32, kOfArrayBase = 48,
                      kOfArrayType = 56, kOfArrayFlags = 64, kOfElementKind = 24;
constexpr int kArrayIsDense = 1 | 2, kArrayOwnsData = 4, kMostDimensions = 64;

}  // namespace

bool ObjectGraph::IsLeaf(const PyObject* object) const {
  const PyObject* type = TypeOf(object);
  for (std::ptrdiff_t i = 0; i < leaf_count_; ++i)
    if (leaves_[i] == type) return true;
  return false;
}

// A view refers to the array that it is a view of; an array of objects to its elements.
void ObjectGraph::VisitArray(const PyObject* array) {
  if (auto* base = FieldAt<PyObject*>(array, kOfArrayBase)) Meet(base);
  const auto* type = FieldAt<const PyObject*>(array, kOfArrayType);
  const int flags = FieldAt<int>(array, kOfArrayFlags);
  const int rank = FieldAt<int>(array, kOfArrayRank);
  if (FieldAt<char>(type, kOfElementKind) != 'O' || (flags & kArrayOwnsData) == 0 ||
      (flags & kArrayIsDense) == 0 || rank < 0 || rank > kMostDimensions)
    return;
  std::ptrdiff_t count = 1;
  const auto* shape = FieldAt<const std::ptrdiff_t*>(array, kOfArrayShape);
  for (int i = 0; i < rank; ++i) count *= shape[i];
  auto* const* elements = FieldAt<PyObject* const*>(array, kOfArrayData);
  for (std::ptrdiff_t i = 0; i < count; ++i)
    if (elements[i] != nullptr) Meet(elements[i]);
}

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
  // Most text and numbers need no place in the table, and no search in it.
  if (!MayBeContainer(edge.target) && !IsLeaf(edge.target)) return;
  std::uint32_t id = table_.Find(edge.target);
  if (id == kNone) {
    if (!IsContainer(edge.target) && !IsLeaf(edge.target)) return;
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
  const PyObject* type = TypeOf(object);
  if (type == &PyFunction_Type || (FieldAt<unsigned long>(type, kOfTypeFlags) & kFlagIsType) != 0)
    has_namespace_[id / 64] |= std::uint64_t{1} << (id % 64);
  if (type == arrays_) return VisitArray(object);
  if (object == all_) return;  // its references are those that UnseenReferences subtracts
  const auto traverse = FieldAt<Traverse>(type, kOfTypeTraverse);
  if (traverse != nullptr) traverse(object, OnEdge, this);
}

// All that gc.freeze() has put aside, as soon as one of it was met.
void ObjectGraph::AddFrozen() {
  for (; asked_ < size() && frozen_ > 0 && patience_ > 0; ++asked_) {
    PyObject* const first = table_[asked_];
    if (!IsContainer(first) ||
        !CollectorList::IsFrozen(first, frozen_, table_, listed_end_, &patience_))
      continue;
    frozen_ = 0;
    for (PyObject* at = CollectorList::Next(first); at != first; at = CollectorList::Next(at))
      if (!CollectorList::IsHead(at) && table_.Add(at) == kNone) {
        outcome_ = Outcome::kFull;
        return;
      }
  }
}

Outcome ObjectGraph::Build(const Listed& listed, const RunningFrames& running, const Leaves& leaves,
                           std::size_t spare) {
  all_ = listed.all;
  arrays_ = leaves.arrays;
  frozen_ = listed.frozen > 0 ? static_cast<std::size_t>(listed.frozen) : 0;
  patience_ = kPatience * (frozen_ + 1);
  const std::ptrdiff_t kinds = PyTuple_Size(leaves.types);
  for (; leaf_count_ < kinds && leaf_count_ < kMostLeaves; ++leaf_count_)
    leaves_[leaf_count_] = PyTuple_GetItem(leaves.types, leaf_count_);
  const std::ptrdiff_t objects = PyList_Size(listed.all);
  const std::ptrdiff_t frames = PyList_Size(running.frames);
  const std::size_t most = static_cast<std::size_t>(objects + frames) + spare;
  if (!table_.Create(most) || !seen_.Create(most) || !has_namespace_.Create(most / 64 + 1))
    return Outcome::kNoMemory;
  for (std::ptrdiff_t i = 0; i < frames; ++i) table_.Add(PyList_GetItem(running.frames, i));
  frames_end_ = size();
  for (std::ptrdiff_t i = 0; i < objects; ++i) {
    if (i + kAhead < objects) table_.Prefetch(PyList_GetItem(listed.all, i + kAhead));
    table_.Add(PyList_GetItem(listed.all, i));
  }
  asked_ = listed_end_ = size();
  for (std::uint32_t id = 0; outcome_ == Outcome::kOk; ++id) {
    if (id == size()) AddPending();  // which may add objects
    if (id == size()) AddFrozen();
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
