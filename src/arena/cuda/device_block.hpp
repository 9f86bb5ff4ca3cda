#pragma once  // Private to arena/cuda.
// A block on a CUDA device. Its threads share the iterations of a loop and wait for each other at
// the end of the loop. Scratch memory is shared memory.

#include "arena/grid/block.hpp"

#if defined(__CUDACC__)
#define DBENCH_FOR_NVCC(pragma) _Pragma(pragma)
#else
#define DBENCH_FOR_NVCC(pragma)
#endif

namespace dbench::arena {

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
    template <class Work>
    DBENCH_INLINE void for_threads(int64_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
        if (threadIdx.x < count) work(static_cast<int64_t>(threadIdx.x));
        __syncthreads();
#endif
    }
    /// Threads that have no column in a short row work on another row.
    template <class Work>
    DBENCH_INLINE void for_rows(int64_t rows, int64_t count, const Work& work) const {
#if defined(__CUDA_ARCH__)
        const Share all(rows, count, Share::kWarp);
        for (int i = all.row; i < all.end; i += all.rows) {
            const auto of_row = work(i);
            DBENCH_FOR_NVCC("unroll 1")
            for (int c = all.column; c < all.width; c += all.across) of_row(c);
        }
        __syncthreads();
#endif
    }
    /// Several reads come before the work on them: the compiler cannot know that a write does not
    /// change what the next iteration reads. A thread without a further element repeats a read.
    template <class Read, class Work>
    DBENCH_INLINE void for_rows(int64_t rows, int64_t count, const Read& read,
                                const Work& work) const {
#if defined(__CUDA_ARCH__)
        using Read1 = decltype(read(int64_t{})(int64_t{}));
        constexpr int kReads = reads_of(sizeof(Read1));
        const Share all(rows, count);
        int i = all.row, c = all.column;
        while (i < all.end && c < all.width) {
            Read1 values[kReads];
            int row[kReads], column[kReads];
            DBENCH_FOR_NVCC("unroll")
            for (int k = 0; k < kReads; ++k) {
                row[k] = i;
                column[k] = c;
                const bool more = i < all.end;
                values[k] = read(more ? i : row[0])(more ? c : column[0]);
                c += all.across;
                if (c >= all.width) {
                    c = all.column;
                    i += all.rows;
                }
            }
            DBENCH_FOR_NVCC("unroll")
            for (int k = 0; k < kReads; ++k) {
                if (row[k] < all.end) work(row[k])(column[k], values[k]);
            }
        }
        __syncthreads();
#endif
    }

    static DBENCH_INLINE void add([[maybe_unused]] uint32_t* to, [[maybe_unused]] uint32_t value) {
#if defined(__CUDA_ARCH__)
        atomicAdd(to, value);
#endif
    }
    static DBENCH_INLINE void add([[maybe_unused]] uint64_t* to, [[maybe_unused]] uint64_t value) {
#if defined(__CUDA_ARCH__)
        static_assert(sizeof(unsigned long long) == sizeof(uint64_t));
        atomicAdd(reinterpret_cast<unsigned long long*>(to), value);
#endif
    }

private:
#if defined(__CUDA_ARCH__)
    /// A thread's part of rows of `count` elements: `across` threads work along one row, the other
    /// threads on other rows. Both numbers are powers of two, so that no division is needed. At
    /// least `least` threads work along a row if it is long enough. More do so only if there are
    /// not enough rows, because a thread can use its precomputed values of a row longer if fewer
    /// threads share the row.
    struct Share {
        int end, width;                 // Number of rows and of columns in all.
        int row, rows, column, across;  // First row and column of this thread, and the steps to its
                                        // next ones.
        static constexpr int kWarp = 32;
        DBENCH_INLINE Share(int64_t all, int64_t count, int least = kThreads)
            : end(static_cast<int>(all)), width(static_cast<int>(count)) {
            int bits = 0;
            while ((2 << bits) <= kThreads && (2 << bits) <= width) ++bits;
            while ((1 << bits) > least && end % (2 * (kThreads >> bits)) == 0) --bits;
            across = 1 << bits;
            rows = kThreads >> bits;
            row = static_cast<int>(threadIdx.x) >> bits;
            column = static_cast<int>(threadIdx.x) & (across - 1);
        }
    };
#endif
    /// Returns how many reads of `bytes` bytes a thread has pending at a time: enough for all
    /// threads of a multiprocessor together to keep the memory busy.
    static constexpr int reads_of(int64_t bytes) {
        constexpr int kMost = 4, kUnderWay = 160;
        return bytes * kMost <= kUnderWay ? kMost : bytes * 2 <= kUnderWay ? 2 : 1;
    }
};

}  // namespace dbench::arena

#undef DBENCH_FOR_NVCC
