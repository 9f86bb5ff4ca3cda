#pragma once
// Marks functions that must be inlined into the calling loop, on the host and, under nvcc, on the
// device.

#if defined(__CUDACC__)
#define DBENCH_INLINE __host__ __device__ __forceinline__
#define DBENCH_INLINE_LAMBDA
#else
#define DBENCH_INLINE __attribute__((always_inline)) inline
#define DBENCH_INLINE_LAMBDA __attribute__((always_inline))
#endif
