#pragma once
// A pool of memory for messages. Reuse matters: the first touch of a fresh page costs more than
// copying a page.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "arena/device/memory.hpp"
#include "arena/rows.hpp"

namespace dbench::comm {

/// Hands out blocks of memory and takes them back. Any thread may call it. Blocks may outlive the
/// pool.
class ScratchPool {
public:
    /// The pool may free an idle block after this many later calls of `take`.
    static constexpr int64_t kMaxIdleTakes = 1000;

    /// Makes a pool of blocks from the memory of rows.
    explicit ScratchPool(arena::Memories memories);
    /// Makes a pool of blocks from `memory`. The pool never frees these blocks, because other
    /// processes or libraries may keep references to memory that they have seen once.
    explicit ScratchPool(const arena::Memory& memory);

    /// Returns a block of at least `bytes` bytes, aligned to 64 bytes, with undefined contents. The
    /// block returns to the pool when the last copy of the handle is destroyed.
    std::shared_ptr<char> take(int64_t bytes);

private:
    struct Shelf;
    std::shared_ptr<Shelf> shelf_;
};

}  // namespace dbench::comm
