// Handlers of memory nodes of graphs: as the driver hooks, launches are the allocations and frees
// (GraphLedger), with the stack of the call that made the node.
#pragma once

#include "cupti_hooks/src/call.h"
#include "cupti_hooks/src/driver_params.h"
#include "libmemprof/src/driver/graph_ledger.h"

namespace memprof::cupti {

// Before the first call of any of these, under the control lock.
void OpenGraphLedger();

// Whether the call's stream, as its function means it, is being captured; `graph` gets the graph
// that calls become nodes of.
bool Capturing(const Call& call, CUstream stream, std::uint64_t* graph);
// A call, or one that was captured, made a node or failed to.
void NoteAllocNode(const Call& call, std::uint64_t graph, std::uint64_t address,
                   std::uint64_t bytes, std::int32_t device);
void NoteFreeNode(const Call& call, std::uint64_t graph, std::uint64_t address);
void NoteNode(const Call& call, CUgraph graph, const void* params);
// Memory is freed outside of graphs, as GraphLedger says it.
std::uint32_t NoteFreeing(std::uint64_t address);
void NoteFreed(std::uint32_t freeing, bool succeeded);
// The device's primary context ends by a reset, whose event says so of all memory.
void EndGraphMemory(std::int32_t device);
// A reference to a primary context was given back, by itself or with a green context. Where it was
// the last, what graphs hold on the device is freed: the end of a context does not say it.
void ReleasePrimary(const Call& call);
void DestroyGreen(const Call& call);

void AddAllocNode(const Call& call);
void AddFreeNode(const Call& call);
template <typename Params>
void AddNode(const Call& call) {
  NoteNode(call, call.As<Params>().graph, call.As<Params>().node_params);
}
void InstantiateGraph(const Call& call);
void LaunchMemoryNodes(const Call& call);
void DestroyExec(const Call& call);
void DestroyGraph(const Call& call);
void TrimGraphMemory(const Call& call);

}  // namespace memprof::cupti
