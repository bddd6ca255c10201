// Attributes of streams: stored; only the priority has an effect.
#include <cstring>

#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/stream.h"

#if CUDA_VERSION >= 11080
namespace memprof::simcuda::api {

static_assert(sizeof(CUstreamAttrValue) == sizeof(StreamAttribute));

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                              const CUstreamAttrValue* value) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (value == nullptr || attr <= CU_LAUNCH_ATTRIBUTE_IGNORE) return CUDA_ERROR_INVALID_VALUE;
  StreamAttribute kept;
  std::memcpy(kept.data(), value, sizeof(*value));
  stream->SetAttribute(attr, kept);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value_out) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (value_out == nullptr || attr <= CU_LAUNCH_ATTRIBUTE_IGNORE) return CUDA_ERROR_INVALID_VALUE;
  const StreamAttribute kept = stream->GetAttribute(attr);
  std::memcpy(value_out, kept.data(), sizeof(*value_out));
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value_out->priority = stream->priority();
  return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> to;
  std::shared_ptr<Stream> from;
  CUresult result = RequireStream(dst, &context, &to);
  if (result == CUDA_SUCCESS) result = RequireStream(src, &context, &from);
  if (result == CUDA_SUCCESS) to->CopyAttributes(*from);
  return result;
}

}  // namespace memprof::simcuda::api
#endif
