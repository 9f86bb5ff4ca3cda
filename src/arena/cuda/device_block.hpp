#pragma once
// A block on a CUDA device: its threads share the iterations of a loop and wait at its end. Scratch
// is shared memory.

#include "arena/kernels/block.hpp"

#if defined(__CUDACC__)
#define DBENCH_FOR_NVCC(pragma) _Pragma(pragma)
#else
#define DBENCH_FOR_NVCC(pragma)
#endif

namespace dbench::arena {

inline constexpr int kThreads = 256;  ///< of a block

class DeviceBlock : public ThreadedBlock<DeviceBlock> {
public:
    using ThreadedBlock::ThreadedBlock;

    template <class Work>
    DBENCH_INLINE void for_each(int64_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
        DBENCH_FOR_NVCC("unroll 4")
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
            DBENCH_FOR_NVCC("unroll 1")
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
            DBENCH_FOR_NVCC("unroll")
            for (unsigned k = 0; k < kReads; ++k) {
                const unsigned e = begin + k * kThreads;
                if (e < all) values[k] = read(e / across)(e % across);
            }
            DBENCH_FOR_NVCC("unroll")
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

}  // namespace dbench::arena

#undef DBENCH_FOR_NVCC
