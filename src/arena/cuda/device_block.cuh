#pragma once
// How a body's blocks run on a CUDA device.

#include <cuda_runtime.h>

#include <string>

#include "arena/cuda/device_block.hpp"
#include "base/error.hpp"

namespace dbench::arena {

/// On a processor at least, so that there are registers enough for each; a body may say otherwise.
template <class Body>
constexpr int blocks_at_once() {
    if constexpr (requires { Body::kBlocksAtOnce; }) {
        return Body::kBlocksAtOnce;
    } else {
        return 2;
    }
}

template <class Body>
__global__ void __launch_bounds__(kThreads, blocks_at_once<Body>()) run_on_device(const Body body) {
    extern __shared__ __align__(64) char scratch[];
    __shared__ __align__(64) DeviceBlock::Stage stage;
    DeviceBlock block(scratch, stage);
    body(block, blockIdx.x);
}

/// Throws RunError where a call of CUDA's, named `what`, has failed.
inline void expect(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    throw base::RunError(std::string("CUDA: ") + what + " failed (" + cudaGetErrorString(result) +
                         ")");
}

/// Enqueues the whole grid of `body`, whose memory (plan and layout too) a device can read. Throws
/// UserError where it wants more scratch than a block may have, RunError where CUDA refuses.
template <class Body>
void on_device(const Body& body, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(body.blocks());
    const auto bytes = static_cast<int>(body.scratch_bytes());
    if (blocks == 0) return;
    constexpr int kAlways = 40 * 1024;  // bytes of scratch that need no asking
    if (bytes > kAlways) {
        const cudaError_t asked = cudaFuncSetAttribute(
            run_on_device<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        if (asked == cudaErrorInvalidValue) {
            cudaGetLastError();
            throw base::UserError("a kernel wants " + std::to_string(bytes >> 10) +
                                  " KiB of a processor's shared memory for its rows, which this "
                                  "card does not give: take fewer replicas a rank");
        }
        expect(asked, "cudaFuncSetAttribute for a kernel's scratch");
    }
    run_on_device<<<blocks, kThreads, static_cast<size_t>(bytes), stream>>>(body);
    expect(cudaGetLastError(), "the launch of a kernel");
}

}  // namespace dbench::arena
