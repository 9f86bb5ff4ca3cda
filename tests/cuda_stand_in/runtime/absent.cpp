// Functions of the runtime that LibTorch links but this program never calls. They abort.

#include <cstdio>
#include <cstdlib>

#define ABSENT(name)                                                      \
    extern "C" int name() {                                               \
        std::fprintf(stderr, "the stand-in for CUDA has no %s\n", #name); \
        std::abort();                                                     \
    }

ABSENT(cudaGraphDebugDotPrint)
ABSENT(cudaGraphNodeGetDependencies)
ABSENT(cudaIpcCloseMemHandle)
ABSENT(cudaIpcGetEventHandle)
ABSENT(cudaIpcGetMemHandle)
ABSENT(cudaIpcOpenEventHandle)
ABSENT(cudaIpcOpenMemHandle)
ABSENT(cudaLaunchCooperativeKernel)
ABSENT(cudaLaunchHostFunc)
ABSENT(cudaMemPoolGetAttribute)
ABSENT(cudaMemPoolSetAccess)
ABSENT(cudaMemPoolTrimTo)
ABSENT(cudaMemcpy2DAsync)
ABSENT(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
ABSENT(cudaProfilerStart)
ABSENT(cudaProfilerStop)
ABSENT(cudaStreamCreate)
ABSENT(cudaStreamGetPriority)
extern "C" char __cudaInitModule(void**) { return 1; }
