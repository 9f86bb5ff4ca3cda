#pragma once
// A block on a CUDA device: its threads share the iterations of a loop and wait at its end. Scratch
// is shared memory.

#include <cuda_runtime.h>

#include <string>

#include "arena/kernels/block.hpp"
#include "base/error.hpp"

namespace dbench::arena {

inline constexpr int kThreads = 256;     ///< of a block
inline constexpr int kBlocksAtOnce = 2;  ///< on a processor at least: more leave too few registers

class DeviceBlock : public ThreadedBlock<DeviceBlock> {
public:
    using ThreadedBlock::ThreadedBlock;

    template <class Work>
    DBENCH_INLINE void for_each(int64_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
#pragma unroll 4
        for (int64_t c = threadIdx.x; c < count; c += kThreads) work(c);
        __syncthreads();
#endif
    }
};

template <class Body>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce) run_on_device(const Body body) {
    extern __shared__ __align__(64) char scratch[];
    __shared__ DeviceBlock::Stage stage;
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
/// RunError where CUDA refuses, such as for more scratch than a block may have.
template <class Body>
void on_device(const Body& body, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(body.blocks());
    const auto bytes = static_cast<int>(body.scratch_bytes());
    if (blocks == 0) return;
    constexpr int kAlways = 40 * 1024;  // bytes of scratch that need no asking
    if (bytes > kAlways) {
        expect(cudaFuncSetAttribute(run_on_device<Body>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
               "cudaFuncSetAttribute for a kernel's scratch");
    }
    run_on_device<<<blocks, kThreads, static_cast<size_t>(bytes), stream>>>(body);
    expect(cudaGetLastError(), "the launch of a kernel");
}

}  // namespace dbench::arena
