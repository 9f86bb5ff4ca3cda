#pragma once
// A block on a CUDA device: its threads share the iterations of a loop and wait at its end. Scratch
// is shared memory.

#include <cuda_runtime.h>

#include <string>

#include "arena/kernels/block.hpp"
#include "base/error.hpp"

namespace dbench::arena {

inline constexpr int kThreads = 256;  ///< of a block
/// On a processor at least, so that there are registers enough for each; a body may say otherwise.
template <class Body>
constexpr int blocks_at_once() {
    if constexpr (requires { Body::kBlocksAtOnce; }) {
        return Body::kBlocksAtOnce;
    } else {
        return 2;
    }
}

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
    /// Threads that a short row leaves idle take another row.
    template <class Work>
    DBENCH_INLINE void for_rows(int64_t rows, int64_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
        int across = kThreads;
        while (across > 1 && across > count) across /= 2;
        for (int64_t i = threadIdx.x / across; i < rows; i += kThreads / across) {
            const auto of_row = work(i);
#pragma unroll 1
            for (int64_t c = threadIdx.x % across; c < count; c += across) of_row(c);
        }
        __syncthreads();
#endif
    }
    /// For so few elements as scratch holds. The compiler cannot know that a write does not change
    /// what the next iteration reads, so reads come first here.
    template <class Read, class Work>
    DBENCH_INLINE void for_rows(int64_t rows, int64_t count, const Read& read,
                                const Work& work) const {
#if defined(__CUDA_ARCH__)
        const auto all = static_cast<unsigned>(rows * count), across = static_cast<unsigned>(count);
        for (unsigned begin = threadIdx.x; begin < all; begin += kReads * kThreads) {
            decltype(read(int64_t{})(int64_t{})) values[kReads];
#pragma unroll
            for (unsigned k = 0; k < kReads; ++k) {
                const unsigned e = begin + k * kThreads;
                if (e < all) values[k] = read(e / across)(e % across);
            }
#pragma unroll
            for (unsigned k = 0; k < kReads; ++k) {
                const unsigned e = begin + k * kThreads;
                if (e < all) work(e / across)(e % across, values[k]);
            }
        }
        __syncthreads();
#endif
    }

    static DBENCH_INLINE void add(uint32_t* to, uint32_t value) {
#if defined(__CUDA_ARCH__)
        atomicAdd(to, value);
#endif
    }
    static DBENCH_INLINE void add(uint64_t* to, uint64_t value) {
#if defined(__CUDA_ARCH__)
        static_assert(sizeof(unsigned long long) == sizeof(uint64_t));
        atomicAdd(reinterpret_cast<unsigned long long*>(to), value);
#endif
    }

private:
    static constexpr unsigned kReads = 4;  // that a thread has under way
};

template <class Body>
__global__ void __launch_bounds__(kThreads, blocks_at_once<Body>()) run_on_device(const Body body) {
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
