#pragma once
// A block on a CUDA device: its threads share the iterations of a loop and wait at its end. Scratch
// is shared memory.

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
    /// Threads that a short row leaves idle take another row.
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
    /// The compiler cannot know that a write does not change what the next iteration reads, so
    /// reads come first here. A thread that has no more to do reads what it has read already.
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
    /// A thread's part of rows of `count` elements: `across` threads go along a row, the others
    /// take other rows. No division: they are a power of two. At least so many go along a row if it
    /// is long enough; more only where there are no rows for them, since what a thread needs to
    /// know of a row serves it longer then.
    struct Share {
        int end, width;                 // of all
        int row, rows, column, across;  // the first ones, and the steps to the next
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
    /// Reads of so many bytes that a thread has under way: enough that all threads of a processor
    /// keep its memory busy.
    static constexpr int reads_of(int64_t bytes) {
        constexpr int kMost = 4, kUnderWay = 160;
        return bytes * kMost <= kUnderWay ? kMost : bytes * 2 <= kUnderWay ? 2 : 1;
    }
};

}  // namespace dbench::arena

#undef DBENCH_FOR_NVCC
