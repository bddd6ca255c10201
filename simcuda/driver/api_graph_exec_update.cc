// Updates of executables from another graph of the same shape, as a whole or for a child.
#include <map>

#include "driver_api.h"
#include "simcuda/driver/graph.h"
#include "simcuda/driver/handles.h"

#if CUDA_VERSION >= 12000

namespace memprof::simcuda {
namespace {

enum class Match { kSame, kTopology, kType, kMemory };

// Whether the nodes of an executable can be replaced by those of another graph: the same number,
// types, order and dependencies. Not with memory nodes.
Match Compare(const GraphExec::Nodes& have, const GraphExec::Nodes& want, CUgraphNode* different) {
  std::map<CUgraphNode, size_t> places[2];
  for (size_t i = 0; i < have.size(); ++i) places[0][have[i]->origin] = i;
  for (size_t i = 0; i < want.size(); ++i) places[1][want[i]->origin] = i;
  if (have.size() != want.size()) return Match::kTopology;
  for (size_t i = 0; i < have.size(); ++i) {
    *different = want[i]->origin;
    if (have[i]->type != want[i]->type) return Match::kType;
    if (have[i]->memory != nullptr || want[i]->memory != nullptr) return Match::kMemory;
    std::vector<size_t> before[2];
    for (const CUgraphNode one : have[i]->dependencies) before[0].push_back(places[0][one]);
    for (const CUgraphNode one : want[i]->dependencies) before[1].push_back(places[1][one]);
    if (before[0] != before[1]) return Match::kTopology;
  }
  *different = nullptr;
  return Match::kSame;
}

// Gives the nodes of `have` the work of `want`; the nodes keep their handles.
void Take(const GraphExec::Nodes& want, GraphExec::Nodes* have) {
  for (size_t i = 0; i < have->size(); ++i) {
    auto copy = std::make_shared<GraphNode>(*want[i]);
    copy->origin = (*have)[i]->origin;
    copy->dependencies = (*have)[i]->dependencies;
    copy->enabled = (*have)[i]->enabled;
    (*have)[i] = std::move(copy);
  }
}

}  // namespace

namespace api {

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo* resultInfo) {
  const auto exec = AllHandles<GraphExec>().Find(hGraphExec);
  const auto graph = AllHandles<Graph>().Find(hGraph);
  if (exec == nullptr || graph == nullptr || resultInfo == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *resultInfo = {};
  GraphExec::Nodes have = *exec->nodes();
  const GraphExec::Nodes want = graph->Flattened();
  switch (Compare(have, want, &resultInfo->errorNode)) {
    case Match::kSame:
      Take(want, &have);
      exec->SetNodes(std::move(have));
      resultInfo->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
      return CUDA_SUCCESS;
    case Match::kTopology:
      resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
      break;
    case Match::kType:
      resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
      break;
    case Match::kMemory:
      resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
      break;
  }
  return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
                           CUgraphExecUpdateResult* updateResult_out) {
  if (updateResult_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExecUpdateResultInfo info = {};
  const CUresult result = api::cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
  *updateResult_out = info.result;
  if (hErrorNode_out != nullptr) *hErrorNode_out = info.errorNode;
  return result;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUgraph childGraph) {
  const auto exec = AllHandles<GraphExec>().Find(hGraphExec);
  const auto graph = AllHandles<Graph>().Find(childGraph);
  if (exec == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphExec::Nodes all = *exec->nodes();
  const GraphExec::Nodes want = graph->Flattened();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->origin != hNode || all[i]->child == nullptr) continue;
    // The nodes of the child graph follow its node directly.
    const size_t count = all[i]->child->Flattened().size();
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i + 1);
    GraphExec::Nodes have(first, first + static_cast<std::ptrdiff_t>(count));
    CUgraphNode different = nullptr;
    if (Compare(have, want, &different) != Match::kSame) return CUDA_ERROR_INVALID_VALUE;
    Take(want, &have);
    std::move(have.begin(), have.end(), first);
    exec->SetNodes(std::move(all));
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace api
}  // namespace memprof::simcuda

#endif
