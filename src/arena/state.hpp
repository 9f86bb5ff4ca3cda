#pragma once
// The state table: everything that a run has to restore, declared once by name. Checkpoints and
// resume iterate over the table and need no code per algorithm.

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "arena/device/memory.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Owns the state rows of a rank's replicas and knows the addresses of other state.
class StateTable {
public:
    /// Sets the type, the replicas and the default stride of rows that are declared later. Rows are
    /// in `memories`, the memory of the rank's device. `peer_readable` allocates memory that other
    /// ranks can read in place; null if no rank does that.
    StateTable(DType type, int64_t first, int64_t count, int64_t stride,
               Memory peer_readable = nullptr, Memories memories = {});

    /// Returns a table without replicas: declarations allocate nothing, and the table only counts
    /// what they would need.
    static StateTable dry(DType type, int64_t stride, Memory peer_readable = nullptr) {
        return {type, 0, 0, stride, std::move(peer_readable)};
    }

    /// Declares the replicas' parameters. They must be the first declared rows. They are in
    /// peer-readable memory, and a buffer that swap_parameters exchanges for them must be too.
    Rows declare_parameters();
    Rows parameters() const { return entries_.front().buffer.rows(); }
    /// Exchanges the buffers: the contents of `other` become the parameters, and vice versa.
    void swap_parameters(Buffer& other) { std::swap(entries_.front().buffer, other); }

    /// Declares and allocates zeroed rows, one per local replica. They keep their address during
    /// the table's lifetime. `stride` 0 means the parameters' stride. Throws std::logic_error if
    /// `name` was already declared.
    Rows rows(const std::string& name, int64_t stride = 0);

    /// Declares a float64 number per local replica, initially zero, in host-visible memory.
    Rows numbers(const std::string& name);

    /// Allocates rows that are not state: every iteration writes them before it reads them. Without
    /// `stride` they have the shape of the parameters.
    Buffer scratch() { return scratch(stride_); }
    Buffer scratch(int64_t stride);
    Buffer host_visible_scratch(int64_t stride);  ///< Scratch rows in host-visible memory.
    Buffer peer_readable_scratch();               ///< Scratch rows in peer-readable memory.
    /// Returns separate peer-readable rows for messages if other ranks read them in place, else no
    /// rows.
    Buffer message() { return peer_readable_ ? peer_readable_scratch() : Buffer(); }

    /// The memory of rows, for memory that is not counted in elements_per_replica.
    const Memories& memories() const { return memories_; }

    /// Declares `bytes` bytes that another object owns (a counter, a cursor, a generator's state).
    void bytes(const std::string& name, void* data, size_t bytes);
    template <class T>
    void value(const std::string& name, T& value) {
        bytes(name, &value, sizeof value);
    }

    struct Entry {
        std::string name;
        Buffer buffer;         ///< The rows; empty if the entry is bytes.
        void* data = nullptr;  ///< The bytes; null if the entry is rows.
        size_t size = 0;       ///< Total bytes on this rank.
    };
    const std::deque<Entry>& entries() const { return entries_; }
    /// Number of elements per replica of all declared rows and scratch rows.
    int64_t elements_per_replica() const { return elements_; }

private:
    Rows declare(const std::string& name, Buffer buffer);

    DType type_;
    int64_t first_, count_, stride_;
    Memory peer_readable_;
    Memories memories_;
    int64_t elements_ = 0;
    std::deque<Entry> entries_;
};

}  // namespace dbench::arena
