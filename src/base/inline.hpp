#pragma once
// Functions that are inlined into the loop that calls them, on the host and, where nvcc reads
// them, on a device.

#if defined(__CUDACC__)
#define DBENCH_INLINE __host__ __device__ __forceinline__
#define DBENCH_INLINE_LAMBDA
#else
#define DBENCH_INLINE __attribute__((always_inline)) inline
#define DBENCH_INLINE_LAMBDA __attribute__((always_inline))
#endif
