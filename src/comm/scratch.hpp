#pragma once
// Memory for messages, used again: a fresh page costs more than a copied one.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "arena/rows.hpp"

namespace dbench::comm {

/// Hands out blocks of memory and takes them back. All calls may come from any thread; blocks may
/// outlive the pool.
class ScratchPool {
public:
    /// A block that nobody has asked for while so many others were taken may go.
    static constexpr int64_t kForgotten = 1000;

    ScratchPool();
    /// Of that memory, of which others may keep what they have once seen: blocks stay.
    explicit ScratchPool(arena::Memory memory);

    /// A block of at least `bytes` bytes, 64-byte aligned, contents undefined. It goes back to the
    /// pool when the last copy of the handle goes.
    std::shared_ptr<char> take(int64_t bytes);

private:
    struct Shelf;
    std::shared_ptr<Shelf> shelf_;
};

}  // namespace dbench::comm
