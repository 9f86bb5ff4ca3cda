// Devices and kernels. Kernels are identified by their registered names and are never run.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime.hpp"

using namespace stand_in;

namespace {

struct Kernel {
    std::string name;
    int scratch = 48 * 1024;  // Bytes of shared memory that a launch may request.
};
constexpr int kMaxScratch = 227 * 1024, kMostThreads = 1024;

std::map<const void*, Kernel>& kernels() {
    static auto* const all = new std::map<const void*, Kernel>;
    return *all;
}

struct Shape {
    dim3 blocks, threads;
    size_t scratch;
    cudaStream_t stream;
};
thread_local std::vector<Shape> called;

cudaError_t launch(const char* call, const void* function, const Shape& shape) {
    if (const cudaError_t error = check_call(call)) return error;
    {
        const std::lock_guard lock(runtime().mutex);
        const auto found = kernels().find(function);
        if (found == kernels().end()) {
            return refuse(cudaErrorInvalidDeviceFunction, call, "no such kernel");
        }
        const Kernel& kernel = found->second;
        const auto size = [](const dim3& d) { return uint64_t{d.x} * d.y * d.z; };
        if (size(shape.blocks) == 0 || size(shape.threads) == 0 ||
            size(shape.threads) > kMostThreads || shape.threads.z > 64 ||
            shape.blocks.x > 2147483647u || shape.blocks.y > 65535 || shape.blocks.z > 65535) {
            return refuse(cudaErrorInvalidConfiguration, call, kernel.name + ": such a grid");
        }
        if (shape.scratch > static_cast<size_t>(kernel.scratch)) {
            return refuse(cudaErrorInvalidValue, call, kernel.name + ": that much shared memory");
        }
        static const char* const breaks = std::getenv("DBENCH_STAND_IN_BREAKS");
        const bool ours = kernel.name.find("6dbench") != std::string::npos;
        int64_t& count = runtime().counts[ours ? "kernels of dbench" : "other kernels"];
        ++count;
        static const char* const names = std::getenv("DBENCH_STAND_IN_NAMES");
        if (names) ++runtime().counts["kernel " + kernel.name];
        if (breaks && runtime().counts["kernels of dbench"] >= std::atoll(breaks)) {
            runtime().stuck = cudaErrorIllegalAddress;  // The next calls report the error.
        }
    }
    return enqueue(call, shape.stream, nullptr);
}

cudaError_t value_of(int* value, cudaDeviceAttr which) {
    switch (which) {
        case cudaDevAttrMaxThreadsPerBlock:
            *value = kMostThreads;
            break;
        case cudaDevAttrMaxBlockDimX:
            *value = 1024;
            break;
        case cudaDevAttrMaxBlockDimY:
            *value = 1024;
            break;
        case cudaDevAttrMaxBlockDimZ:
            *value = 64;
            break;
        case cudaDevAttrMaxGridDimX:
            *value = 2147483647;
            break;
        case cudaDevAttrMaxGridDimY:
            *value = 65535;
            break;
        case cudaDevAttrMaxGridDimZ:
            *value = 65535;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = 48 * 1024;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = kMaxScratch;
            break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            *value = 228 * 1024;
            break;
        case cudaDevAttrMultiProcessorCount:
            *value = 132;
            break;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            *value = 2048;
            break;
        case cudaDevAttrWarpSize:
            *value = 32;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = 9;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = 0;
            break;
        case cudaDevAttrMaxRegistersPerBlock:
            *value = 65536;
            break;
        case cudaDevAttrL2CacheSize:
            *value = 50 << 20;
            break;
        default:
            *value = 0;
    }
    return result(cudaSuccess);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void*) {
    static void* module = nullptr;
    return &module;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
    const std::lock_guard lock(runtime().mutex);
    kernels()[host] = {name};
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
    return cudaSuccess;
}
unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t scratch, void* stream) {
    called.push_back({blocks, threads, scratch, static_cast<cudaStream_t>(stream)});
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads, size_t* scratch, void* stream) {
    const Shape shape = called.back();
    called.pop_back();
    *blocks = shape.blocks;
    *threads = shape.threads;
    *scratch = shape.scratch;
    std::memcpy(stream, &shape.stream, sizeof shape.stream);
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void**,
                               size_t scratch, cudaStream_t stream) {
    return launch("cudaLaunchKernel", kernel, {blocks, threads, scratch, stream});
}
cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void**,
                             size_t scratch, cudaStream_t stream) {
    return launch(__func__, function, {blocks, threads, scratch, stream});
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void**) {
    return launch(__func__, function,
                  {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream});
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
    const std::lock_guard lock(runtime().mutex);
    if (!kernels().contains(function)) {
        return refuse(cudaErrorInvalidDeviceFunction, __func__, "no such kernel");
    }
    std::memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = kMostThreads;
    attributes->numRegs = 32;
    attributes->binaryVersion = attributes->ptxVersion = 90;
    attributes->maxDynamicSharedSizeBytes = kernels()[function].scratch;
    return result(cudaSuccess);
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute which, int value) {
    const std::lock_guard lock(runtime().mutex);
    const auto found = kernels().find(function);
    if (found == kernels().end()) {
        return refuse(cudaErrorInvalidDeviceFunction, __func__, "no such kernel");
    }
    if (which == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value > kMaxScratch) {
            return refuse(cudaErrorInvalidValue, __func__,
                          found->second.name + ": that much shared memory");
        }
        found->second.scratch = value;
    }
    return result(cudaSuccess);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   size_t, unsigned) {
    *blocks = 2;
    return result(cudaSuccess);
}
cudaError_t cudaGetSymbolAddress(void** address, const void*) { return cudaMalloc(address, 4096); }
cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) {
    return result(cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = gpu_count();
    return result(gpu_count() > 0 ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
    if (device < 0 || device >= gpu_count()) return result(cudaErrorInvalidDevice);
    return value_of(value, which);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    if (device < 0 || device >= gpu_count()) return result(cudaErrorInvalidDevice);
    std::memset(p, 0, sizeof *p);
    std::snprintf(p->name, sizeof p->name, "Stand-in for a card");
    p->uuid.bytes[0] = static_cast<char>(device + 1);
    p->totalGlobalMem = size_t{64} << 30;
    p->sharedMemPerBlock = 48 * 1024;
    p->sharedMemPerBlockOptin = kMaxScratch;
    p->sharedMemPerMultiprocessor = 228 * 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = kMostThreads;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    const char* const capability = std::getenv("DBENCH_STAND_IN_CAPABILITY");
    p->major = capability ? std::atoi(capability) / 10 : 9;
    p->minor = capability ? std::atoi(capability) % 10 : 0;
    p->multiProcessorCount = 132;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->l2CacheSize = 50 << 20;
    p->memoryBusWidth = 5120;
    p->concurrentKernels = p->unifiedAddressing = p->canMapHostMemory = 1;
    p->totalConstMem = 65536;
    p->textureAlignment = 512;
    p->pciBusID = device + 1;
    return result(cudaSuccess);
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    if (device < 0 || device >= gpu_count()) return result(cudaErrorInvalidDevice);
    std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
    return result(cudaSuccess);
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 1;
    return result(cudaSuccess);
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return result(cudaSuccess); }
cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return result(cudaSuccess);
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return result(cudaSuccess);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
    std::fprintf(stderr, "stand-in: driver entry %s\n", symbol);
    *function = nullptr;
    if (status) *status = cudaDriverEntryPointSymbolNotFound;
    return result(cudaErrorSymbolNotFound);
}

const char* cudaGetErrorName(cudaError_t error) {
    static const std::map<cudaError_t, const char*> names = {
        {cudaSuccess, "cudaSuccess"},
        {cudaErrorInvalidValue, "cudaErrorInvalidValue"},
        {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation"},
        {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration"},
        {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction"},
        {cudaErrorNoDevice, "cudaErrorNoDevice"},
        {cudaErrorInvalidDevice, "cudaErrorInvalidDevice"},
        {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle"},
        {cudaErrorIllegalState, "cudaErrorIllegalState"},
        {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound"},
        {cudaErrorNotReady, "cudaErrorNotReady"},
        {cudaErrorIllegalAddress, "cudaErrorIllegalAddress"},
        {cudaErrorNotSupported, "cudaErrorNotSupported"},
        {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported"},
        {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated"},
        {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge"},
        {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched"},
        {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined"},
        {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation"},
        {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit"},
        {cudaErrorCapturedEvent, "cudaErrorCapturedEvent"},
        {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread"},
    };
    const auto found = names.find(error);
    return found == names.end() ? "cudaErrorUnknown" : found->second;
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

}  // extern "C"
