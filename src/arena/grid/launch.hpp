#pragma once
// How a kernel call reaches the host, a queue's device or its emulation.

#include "arena/device/queue.hpp"
#include "arena/grid/emulated_block.hpp"
#include "arena/grid/host_block.hpp"

#if DBENCH_CUDA
struct CUstream_st;  // The struct that a cudaStream_t points to.
#endif

namespace dbench::arena {

#if DBENCH_CUDA
/// Enqueues all blocks of `body` on a stream. Compiled by nvcc, for each body that cuda/kernels.cu
/// lists.
template <class Body>
void on_device(const Body& body, CUstream_st* stream);
#endif

/// Launches `body` on `queue`. accesses() returns the memory that the body reads and writes; it is
/// called only if the queue is emulated.
template <class Body, class Accesses>
void launch_on(Queue& queue, const char* name, const Body& body, const Accesses& accesses) {
    Launch launch{name, {}, body.blocks()};
    if (queue.emulated()) {
        launch.accesses = accesses();
        launch.run = [body](int64_t block, uint64_t order) { run_emulated(body, block, order); };
    }
#if DBENCH_CUDA
    launch.enqueue = [&](void* stream) { on_device(body, static_cast<CUstream_st*>(stream)); };
#endif
    queue.launch(std::move(launch));
}

/// Launches `body` on `queue`. An immediate queue runs the body at once by on_host, which is
/// compiled for each type of body.
template <class Body, class Accesses>
void launch(Queue& queue, const char* name, const Body& body, const Accesses& accesses) {
    if (queue.immediate()) return on_host(body);
    launch_on(queue, name, body, accesses);
}

}  // namespace dbench::arena
