// Records contexts and modules by CUPTI's resource domain. Skipped where something else records
// them: the driver hooks, while an intercepted call runs, or a call of the driver that was passed
// to the recorder.
#include <cupti_callbacks.h>

#include "cupti_hooks/src/callbacks.h"
#include "cupti_hooks/src/recorder.h"
#include "cupti_hooks/src/source.h"

namespace memprof::cupti {
namespace {

void ReportContext(std::uint32_t op, CUcontext context) {
  if (InsideContextCall()) return;
  SourceEvent event{};
  event.op = op;
  event.device = DeviceOfContext(context);
  event.context = Number(context);
  Record(event);
}

// The id of the module is its address: unique among those loaded.
void ReportModule(std::uint32_t op, const CUpti_ResourceData& data) {
  SourceEvent event{};
  event.op = op;
  event.layer = kLayerModule;
  event.device = DeviceOfContext(data.context);
  event.context = Number(data.context);
  if (data.resourceDescriptor != nullptr) {
    const auto& module = *static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
    event.address = module.moduleId;
    event.bytes = module.cubinSize;
  }
  Record(event);
}

}  // namespace

void OnResource(std::uint32_t cbid, const void* untyped) {
  if (Recorder()->inside_hook() != 0) return;
  const auto& data = *static_cast<const CUpti_ResourceData*>(untyped);
  switch (cbid) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      return ReportContext(kOpContextCreate, data.context);
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      return ReportContext(kOpContextDestroy, data.context);
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      return ReportModule(kOpModuleLoad, data);
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      return ReportModule(kOpModuleUnload, data);
    default:
      return;
  }
}

}  // namespace memprof::cupti
