#pragma once
// How a kernel gets from its call to where it runs.

#include "arena/device/queue.hpp"
#include "arena/grid/emulated_block.hpp"
#include "arena/grid/host_block.hpp"

#if DBENCH_CUDA
struct CUstream_st;  // what a cudaStream_t points to
#endif

namespace dbench::arena {

#if DBENCH_CUDA
/// Puts all blocks of `body` on a stream: compiled by nvcc, for each body that cuda/kernels.cu
/// names.
template <class Body>
void on_device(const Body& body, CUstream_st* stream);
#endif

/// Runs `body` on `queue`. accesses() tells what it reads and writes.
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

/// The same; at once, by the compiled on_host of its type, where there is no queue.
template <class Body, class Accesses>
void launch(Queue* queue, const char* name, const Body& body, const Accesses& accesses) {
    if (!queue) return on_host(body);
    launch_on(*queue, name, body, accesses);
}

}  // namespace dbench::arena
