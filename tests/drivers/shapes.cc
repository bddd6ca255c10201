// Every function of the table is declared as cuda.h declares it. Compiled with the toolkit's
// header, and by functions_test.py with each newer one. Newer declarations are the reference's for
// older headers.
#include <type_traits>

#include "libmemprof/src/driver/api.h"

#if CUDA_VERSION >= 13000

// Functions of graphics interfaces, as declared in cudaGL.h, cudaEGL.h and cudaVDPAU.h, which need
// headers of graphics. GLuint, VdpDevice and surfaces are 32-bit numbers.
extern "C" {
CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource*, unsigned, unsigned);
CUresult cuGraphicsGLRegisterImage(CUgraphicsResource*, unsigned, unsigned, unsigned);
CUresult cuGLCtxCreate(CUcontext*, unsigned, CUdevice);
CUresult cuGLCtxCreate_v2(CUcontext*, unsigned, CUdevice);
CUresult cuGLRegisterBufferObject(unsigned);
CUresult cuGLUnregisterBufferObject(unsigned);
CUresult cuGLMapBufferObject(CUdeviceptr_v1*, unsigned*, unsigned);
CUresult cuGLMapBufferObject_v2(CUdeviceptr*, size_t*, unsigned);
CUresult cuGLMapBufferObject_v2_ptds(CUdeviceptr*, size_t*, unsigned);
CUresult cuGLMapBufferObjectAsync(CUdeviceptr_v1*, unsigned*, unsigned, CUstream);
CUresult cuGLMapBufferObjectAsync_v2(CUdeviceptr*, size_t*, unsigned, CUstream);
CUresult cuGLMapBufferObjectAsync_v2_ptsz(CUdeviceptr*, size_t*, unsigned, CUstream);
CUresult cuGLUnmapBufferObject(unsigned);
CUresult cuGLUnmapBufferObjectAsync(unsigned, CUstream);
CUresult cuGraphicsEGLRegisterImage(CUgraphicsResource*, void*, unsigned);
CUresult cuEGLStreamConsumerAcquireFrame(void*, CUgraphicsResource*, CUstream*, unsigned);
CUresult cuEGLStreamConsumerReleaseFrame(void*, CUgraphicsResource, CUstream*);
CUresult cuGraphicsResourceGetMappedEglFrame(void*, CUgraphicsResource, unsigned, unsigned);
CUresult cuVDPAUCtxCreate(CUcontext*, unsigned, CUdevice, std::uint32_t, void*);
CUresult cuVDPAUCtxCreate_v2(CUcontext*, unsigned, CUdevice, std::uint32_t, void*);
CUresult cuGraphicsVDPAURegisterVideoSurface(CUgraphicsResource*, std::uint32_t, unsigned);
CUresult cuGraphicsVDPAURegisterOutputSurface(CUgraphicsResource*, std::uint32_t, unsigned);
}

// As cuda.h of CUDA 13.5 declares them.
extern "C" {
#if CUDA_VERSION < 13010
CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle, CUdevice, size_t,
                               CUmemGenericAllocationHandle, size_t, size_t, unsigned long long);
CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle, CUdevice, size_t, CUdeviceptr, size_t,
                                unsigned long long);
#endif
#if CUDA_VERSION < 13030
CUresult cuLogicalEndpointCreate(cuuint32_t, const void*);
CUresult cuLogicalEndpointImport(cuuint32_t, const void*, int);
CUresult cuLogicalEndpointAddDevice(cuuint32_t, CUdevice);
CUresult cuLogicalEndpointBindMem(cuuint32_t, CUdevice, cuuint64_t, CUmemGenericAllocationHandle,
                                  cuuint64_t, cuuint64_t, unsigned long long);
CUresult cuLogicalEndpointBindAddr(cuuint32_t, CUdevice, cuuint64_t, void*, cuuint64_t,
                                   unsigned long long);
CUresult cuLogicalEndpointUnbind(cuuint32_t, CUdevice, cuuint64_t, cuuint64_t);
CUresult cuLogicalEndpointDestroy(cuuint32_t);
#endif
#if CUDA_VERSION < 13040
CUresult cuGraphAddNode_v3(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                           size_t, CUgraphNodeParams*);
#endif
}

namespace memprof::recorder {
namespace {

// Compares sizes and number of parameters, which determine the caller's registers.
template <typename Ours, typename Theirs>
struct SameShape;
template <typename... Ours, typename... Theirs>
struct SameShape<CUresult(Ours...), CUresult(Theirs...)> {
  static constexpr bool Check() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return ((sizeof(Ours) == sizeof(Theirs) &&
               std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>)&&...);
    }
  }
};

// cuda.h declares most of the old names as well; it declares the rest under their base name.
#define MEMPROF_CHECK_SHAPE(name, parameters) \
  static_assert(SameShape<CUresult parameters, decltype(::name)>::Check(), #name);
#define MEMPROF_CHECK_ROW(name, base, since, streams, parameters, arguments, handler) \
  MEMPROF_CHECK_SHAPE(name, parameters)
MEMPROF_DRIVER_FUNCTIONS(MEMPROF_CHECK_ROW)

}  // namespace
}  // namespace memprof::recorder

#endif
