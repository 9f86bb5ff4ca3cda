#pragma once
// How the blocks of a body run on a CUDA device.

#include <cuda_runtime.h>

#include <string>

#include "arena/cuda/device_block.hpp"
#include "base/error.hpp"

namespace dbench::arena {

/// Minimum number of blocks on a multiprocessor, so that the compiler leaves registers for each. A
/// body can override it by kMinBlocksPerProcessor.
template <class Body>
constexpr int min_blocks_per_processor() {
    if constexpr (requires { Body::kMinBlocksPerProcessor; }) {
        return Body::kMinBlocksPerProcessor;
    } else {
        return 2;
    }
}

template <class Body>
__global__ void __launch_bounds__(kThreads, min_blocks_per_processor<Body>())
    run_on_device(const Body body) {
    extern __shared__ __align__(64) char scratch[];
    __shared__ __align__(64) DeviceBlock::Stage stage;
    DeviceBlock block(scratch, stage);
    body(block, blockIdx.x);
}

/// Throws RunError if the CUDA call named `what` has failed.
inline void expect(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    throw base::RunError(std::string("CUDA: ") + what + " failed (" + cudaGetErrorString(result) +
                         ")");
}

/// Enqueues the whole grid of `body`. All its memory, including plan and layout, must be readable
/// by the device. Throws UserError if the body needs more scratch memory than a block can have,
/// RunError if CUDA fails.
template <class Body>
void on_device(const Body& body, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(body.blocks());
    const auto bytes = static_cast<int>(body.scratch_bytes());
    if (blocks == 0) return;
    constexpr int kAlways = 40 * 1024;  // Bytes of scratch memory that need no attribute.
    if (bytes > kAlways) {
        const cudaError_t asked = cudaFuncSetAttribute(
            run_on_device<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (asked == cudaErrorInvalidValue) {
            cudaGetLastError();
            throw base::UserError(
                "a kernel requires " + std::to_string(bytes >> 10) +
                " KiB of shared memory per multiprocessor for its rows, which this "
                "GPU does not provide: use fewer replicas per rank");
        }
        expect(asked, "cudaFuncSetAttribute for a kernel's scratch");
    }
    run_on_device<<<blocks, kThreads, static_cast<size_t>(bytes), stream>>>(body);
    expect(cudaGetLastError(), "the launch of a kernel");
}

}  // namespace dbench::arena
