#pragma once
// How a kernel gets from its call to where it runs.

#include "arena/kernels/emulated_block.hpp"
#include "arena/kernels/host_block.hpp"
#include "arena/queue.hpp"

namespace dbench::arena {

/// Runs `body` on `queue`; at once, by the compiled on_host of its type, where there is none.
/// accesses() tells what it reads and writes.
template <class Body, class Accesses>
void launch(Queue* queue, const char* name, const Body& body, const Accesses& accesses) {
    if (!queue) return on_host(body);
    queue->launch({name, accesses(), body.blocks(),
                   [body](int64_t block, uint64_t order) { run_emulated(body, block, order); }});
}

}  // namespace dbench::arena
