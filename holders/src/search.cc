// One queue for all: each object is in it once.
#include "holders/src/search.h"

namespace memprof::holders {

void Search::Close(const PyObject* object) {
  const std::uint32_t id = graph_.Find(object);
  if (id != kNone) closed_[id / 64] |= std::uint64_t{1} << (id % 64);
}

void Search::From(PyObject* roots, Reach reach) {
  const std::ptrdiff_t count = PyList_Size(roots);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const std::uint32_t id = graph_.Find(PyList_GetItem(roots, i));
    if (id != kNone && reach_[id] == 0) Seed(id, reach);
  }
}

void Search::FromVariables(PyObject* user, PyObject* others, const Owners& owners) {
  From(user, Reach::kUser);
  Spread(&owners);
  const std::uint32_t of_user = pushed_;
  From(others, Reach::kOthers);
  Spread(nullptr);
  const std::uint32_t of_all = pushed_;
  popped_ = 0;  // what was left out
  Spread(nullptr, of_user);
  popped_ = of_all;
  Spread(nullptr);
}

void Search::Spread(const Owners* owners, std::uint32_t end) {
  while (popped_ < pushed_ && popped_ < end) {
    const std::uint32_t from = queue_[popped_++];
    for (const std::uint32_t* to = graph_.begin(from); to != graph_.end(from); ++to) {
      if (reach_[*to] != 0 || closed(*to)) continue;
      if (owners != nullptr && graph_.has_namespace(*to) && owners->IsOfLibrary(graph_.object(*to)))
        continue;
      parent_[*to] = from + 1;
      reach_[*to] = reach_[from];
      queue_[pushed_++] = *to;
    }
  }
}

void Search::FromUnseenReferences() {
  for (std::uint32_t id = 0; id < graph_.size(); ++id)
    if (reach_[id] == 0 && (closed(id) || graph_.UnseenReferences(id) > 0))
      Seed(id, Reach::kUnseen);
  Spread(nullptr);
}

void Search::Garbage() {
  for (std::uint32_t from = 0; from < graph_.size(); ++from) {
    if (reach(from) != Reach::kNot && reach(from) != Reach::kGarbage) continue;
    for (const std::uint32_t* to = graph_.begin(from); to != graph_.end(from); ++to) {
      if (reach(*to) != Reach::kNot || *to == from) continue;
      parent_[*to] = from + 1;
      reach_[*to] = static_cast<std::uint8_t>(Reach::kGarbage);
    }
  }
  for (std::uint32_t id = 0; id < graph_.size(); ++id)
    if (reach_[id] == 0) reach_[id] = static_cast<std::uint8_t>(Reach::kGarbage);
}

}  // namespace memprof::holders
