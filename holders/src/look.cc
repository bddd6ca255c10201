// The functions of this library, for the agent in Python (python/memprof/_holders). It is called
// with the GIL and keeps it, so that nothing changes while it runs; what it returns are references
// to objects, because afterwards the program continues.
#include <initializer_list>

#include "holders/src/exit_callbacks.h"
#include "holders/src/object_graph.h"
#include "holders/src/search.h"

namespace memprof::holders {
namespace {

constexpr std::uint8_t kMostReferrers = 8;  // of one target, or of what refers to one
constexpr std::uint8_t kNotWanted = 255;

struct Arguments {
  PyObject* list_all;      // gc.get_objects
  PyObject* count_frozen;  // gc.get_freeze_count
  PyObject* frames;        // list of frames that run
  PyObject* counts;        // list of the numbers of their variables
  PyObject* closed;        // list: paths do not lead into these
  PyObject* user;          // list of roots, the best first
  PyObject* others;        // list of further roots
  PyObject* targets;       // tuple of types: paths to objects of them and their subtypes are wanted
  PyObject* kin;           // a type or None: also to those of all types that have its tp_traverse
  PyObject* leaves;        // tuple of types whose objects are seen though the collector has none
  PyObject* names;         // frozenset of the names of the user's modules
  PyObject* key_of_class;  // "__module__"
  PyObject* key_of_function;  // "__name__"
  PyObject* arrays;           // numpy.ndarray, a leaf whose elements are seen too; or None
};

// What is returned: objects on paths, each once.
class Found {
 public:
  Found(const ObjectGraph& graph, const Search& search) : graph_(graph), search_(search) {}
  bool Create() { return place_.Create(graph_.size()); }

  // The path to an object, if it has none yet. False without memory.
  bool AddPath(std::uint32_t id) {
    for (; id != kNone && place_[id] == 0; id = search_.parent(id)) {
      if (!ids_.Push(id)) return false;
      place_[id] = static_cast<std::uint32_t>(ids_.size());
    }
    return true;
  }
  std::int32_t PlaceOf(std::uint32_t id) const {
    return id == kNone ? -1 : static_cast<std::int32_t>(place_[id]) - 1;
  }
  std::size_t size() const { return ids_.size(); }
  std::uint32_t operator[](std::size_t place) const { return ids_[place]; }
  std::size_t bytes() const { return ids_.bytes() + place_.bytes(); }

 private:
  const ObjectGraph& graph_;
  const Search& search_;
  Region<std::uint32_t> ids_;
  Region<std::uint32_t> place_;  // by id: place in ids_, + 1
};

// Whether the fields that are read directly are where they should be.
bool LayoutIsKnown(const PyObject* all) {
  if (TypeOf(all) != &PyList_Type) return false;
  for (PyObject* type : {&PyList_Type, &PyDict_Type, &PyTuple_Type, &PyType_Type}) {
    const auto flags = FieldAt<unsigned long>(type, kOfTypeFlags);
    if (TypeOf(type) != &PyType_Type || flags != PyType_GetFlags(type)) return false;
    if ((flags & kFlagHasGc) == 0 || FieldAt<Traverse>(type, kOfTypeTraverse) == nullptr)
      return false;
  }
  return true;
}

struct Target {
  std::int32_t place;
  std::int32_t unseen;  // references that no object has
};
struct Referrer {
  std::int32_t target, from;  // places
};

class Look {
 public:
  explicit Look(const Arguments& arguments) : arguments_(arguments) {
    if ((FieldAt<unsigned long>(TypeOf(arguments.kin), kOfTypeFlags) & kFlagIsType) != 0)
      kin_traverse_ = FieldAt<Traverse>(arguments.kin, kOfTypeTraverse);
  }

  Outcome Run(const Listed& listed, FrameLocals locals, std::size_t spare) {
    const Outcome outcome = graph_.Build(listed, {arguments_.frames, arguments_.counts, locals},
                                         {arguments_.leaves, arguments_.arrays}, spare);
    if (outcome != Outcome::kOk) return outcome;
    return FindPaths() ? Outcome::kOk : Outcome::kNoMemory;
  }
  PyObject* Result() const;

 private:
  bool FindPaths();
  bool IsTarget(const PyObject* object);
  bool AddTargets();
  bool AddReferrers();

  const Arguments& arguments_;
  ObjectGraph graph_;
  Search search_{graph_};
  Found found_{graph_, search_};
  Region<Target> targets_;
  Region<Referrer> referrers_;
  Traverse kin_traverse_ = nullptr;
  const PyObject* last_type_ = nullptr;  // of the object that was asked for last
  bool last_is_target_ = false;
};

bool Look::IsTarget(const PyObject* object) {
  PyObject* type = TypeOf(object);
  if (type != last_type_) {
    last_type_ = type;
    const auto traverse = FieldAt<Traverse>(type, kOfTypeTraverse);
    last_is_target_ = traverse != nullptr && traverse == kin_traverse_;
    for (std::ptrdiff_t i = 0; i < PyTuple_Size(arguments_.targets); ++i)
      last_is_target_ |= PyType_IsSubtype(type, PyTuple_GetItem(arguments_.targets, i)) != 0;
  }
  return last_is_target_;
}

bool Look::FindPaths() {
  if (!search_.Create() || !found_.Create()) return false;
  const std::ptrdiff_t closed = PyList_Size(arguments_.closed);
  for (std::ptrdiff_t i = 0; i < closed; ++i) search_.Close(PyList_GetItem(arguments_.closed, i));
  search_.FromVariables(
      arguments_.user, arguments_.others,
      Owners(arguments_.names, arguments_.key_of_class, arguments_.key_of_function));
  search_.FromUnseenReferences();
  search_.Garbage();
  return AddTargets() && AddReferrers();
}

bool Look::AddTargets() {
  for (std::uint32_t id = 0; id < graph_.size(); ++id) {
    if (!IsTarget(graph_.object(id))) continue;
    if (!found_.AddPath(id)) return false;
    if (!targets_.Push(
            {found_.PlaceOf(id), static_cast<std::int32_t>(graph_.UnseenReferences(id))}))
      return false;
  }
  return true;
}

// What else refers to targets and to the first object that refers to each, and the paths to that.
bool Look::AddReferrers() {
  Region<std::uint8_t> known;  // by place: how many referrers of it are known
  if (!known.Create(found_.size())) return false;
  for (std::size_t place = 0; place < known.size(); ++place) known[place] = kNotWanted;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const auto place = static_cast<std::size_t>(targets_[i].place);
    const std::int32_t parent = found_.PlaceOf(search_.parent(found_[place]));
    known[place] = 0;
    if (parent >= 0) known[static_cast<std::size_t>(parent)] = 0;
  }
  for (std::uint32_t from = 0; from < graph_.size(); ++from) {
    for (const std::uint32_t* to = graph_.begin(from); to != graph_.end(from); ++to) {
      const std::int32_t place = found_.PlaceOf(*to);
      if (place < 0 || static_cast<std::size_t>(place) >= known.size() || from == *to) continue;
      std::uint8_t& count = known[static_cast<std::size_t>(place)];
      if (count >= kMostReferrers) continue;
      ++count;
      if (!found_.AddPath(from) || !referrers_.Push({place, found_.PlaceOf(from)})) return false;
    }
  }
  return true;
}

template <typename T>
PyObject* Bytes(const Region<T>& items) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(items.data()),
                                   static_cast<std::ptrdiff_t>(items.bytes()));
}

// (objects, parents, reach, targets, referrers, (objects examined, edges, bytes))
PyObject* Look::Result() const {
  Region<std::int32_t> parents;
  Region<std::uint8_t> reach;
  PyObject* objects = PyList_New(static_cast<std::ptrdiff_t>(found_.size()));
  if (objects == nullptr) return nullptr;
  for (std::size_t place = 0; place < found_.size(); ++place) {
    const std::uint32_t id = found_[place];
    Py_IncRef(graph_.object(id));
    PyList_SetItem(objects, static_cast<std::ptrdiff_t>(place), graph_.object(id));
    parents.Push(found_.PlaceOf(search_.parent(id)));
    reach.Push(static_cast<std::uint8_t>(search_.reach(id)));
  }
  PyObject* figures = PyTuple_New(3);
  const std::size_t bytes = graph_.bytes() + search_.bytes() + found_.bytes();
  PyTuple_SetItem(figures, 0, PyLong_FromLongLong(graph_.size()));
  PyTuple_SetItem(figures, 1, PyLong_FromLongLong(static_cast<long long>(graph_.edges())));
  PyTuple_SetItem(figures, 2, PyLong_FromLongLong(static_cast<long long>(bytes)));
  PyObject* result = PyTuple_New(6);
  PyObject* parts[] = {objects,         Bytes(parents),    Bytes(reach),
                       Bytes(targets_), Bytes(referrers_), figures};
  for (int i = 0; i < 6; ++i) PyTuple_SetItem(result, i, parts[i]);
  return result;
}

// Null with an exception set if there was no memory.
PyObject* LookAt(const Arguments& arguments, const Listed& listed, FrameLocals locals) {
  for (std::size_t spare = std::size_t{1} << 16;; spare *= 8) {
    Look look(arguments);
    const Outcome outcome = look.Run(listed, locals, spare);
    if (outcome == Outcome::kFull) continue;
    if (outcome == Outcome::kOk) return look.Result();
    PyErr_SetString(PyExc_RuntimeError, "no memory to look for holders");
    return nullptr;
  }
}

}  // namespace
}  // namespace memprof::holders

using memprof::holders::Arguments;

// Returns the result, or null with an exception set. All objects are listed here, so that no other
// thread can make any since.
extern "C" __attribute__((visibility("default"))) PyObject* memprof_look(const Arguments* arguments,
                                                                         int minor,
                                                                         long long frame_bytes) {
  using memprof::holders::Outcome;
  PyObject* frozen = PyObject_CallObject(arguments->count_frozen, nullptr);
  PyObject* all = frozen == nullptr ? nullptr : PyObject_CallObject(arguments->list_all, nullptr);
  PyObject* result = nullptr;
  if (all != nullptr && !memprof::holders::LayoutIsKnown(all)) {
    PyErr_SetString(PyExc_RuntimeError, "the objects of this Python have an unknown layout");
  } else if (all != nullptr) {
    const memprof::holders::Listed listed = {all, PyLong_AsLongLong(frozen)};
    result = memprof::holders::LookAt(*arguments, listed, {minor, frame_bytes});
  }
  if (all != nullptr) Py_DecRef(all);
  if (frozen != nullptr) Py_DecRef(frozen);
  return result;
}

// The address of the object in a place of a frame's variables; 0 if there is none.
extern "C" __attribute__((visibility("default"))) std::uint64_t memprof_frame_slot(
    PyObject* frame, std::int64_t index, int minor, long long frame_bytes) {
  const memprof::holders::FrameLocals locals(minor, frame_bytes);
  return reinterpret_cast<std::uint64_t>(locals.At(frame, index));
}

// What atexit will call: a list of (function, arguments, keywords or None).
extern "C" __attribute__((visibility("default"))) PyObject* memprof_exit_callbacks(PyObject* module,
                                                                                   PyObject* known,
                                                                                   unsigned count,
                                                                                   int minor) {
  return memprof::holders::ExitCallbacks(module, known, count, minor);
}

// Whether modules may have lost their variables already.
static bool IsFinalizing() {
  if (Py_IsFinalizing != nullptr) return Py_IsFinalizing() != 0;
  return _Py_IsFinalizing != nullptr && _Py_IsFinalizing() != 0;
}

// Calls an object in the main thread as soon as that executes Python, as a handler of a signal:
// what it raises is raised there. 0, or -1 if too many calls wait. It is not called any more once
// the interpreter ends.
extern "C" __attribute__((visibility("default"))) int memprof_call_in_main(PyObject* callable) {
  Py_IncRef(callable);
  const int added = Py_AddPendingCall(
      [](void* waiting) {
        auto* called = static_cast<PyObject*>(waiting);
        if (IsFinalizing()) return 0;
        PyObject* result = PyObject_CallObject(called, nullptr);
        if (result != nullptr) Py_DecRef(result);
        Py_DecRef(called);
        return result == nullptr ? -1 : 0;
      },
      callable);
  if (added != 0) Py_DecRef(callable);
  return added;
}
