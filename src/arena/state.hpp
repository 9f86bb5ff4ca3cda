#pragma once
// The state table: everything that a run would have to restore, declared once by name. Checkpoints
// and resume walk it and need no code per algorithm.

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "arena/rows.hpp"

namespace dbench::arena {

class StateTable {
public:
    /// Rows declared later have this type, replicas and default stride. `readable` gives memory
    /// that other ranks read in place; null where none does.
    StateTable(DType type, int64_t first, int64_t count, int64_t stride, Memory readable = nullptr);

    /// A table without replicas: declaring in it allocates nothing, and tells what would be.
    static StateTable dry(DType type, int64_t stride, Memory readable = nullptr) {
        return {type, 0, 0, stride, std::move(readable)};
    }

    /// The replicas' parameters, the first rows to be declared: in readable memory, as a scratch
    /// row that takes their place must be.
    Rows declare_parameters();
    Rows parameters() const { return entries_.front().buffer.rows(); }
    /// What was in `other` are the parameters from now on, and the other way round.
    void swap_parameters(Buffer& other) { std::swap(entries_.front().buffer, other); }

    /// Declares and allocates zeroed rows, one per local replica. Rows keep their address for the
    /// table's life. `stride` 0: that of the parameters. Throws std::logic_error on a second
    /// `name`.
    Rows rows(const std::string& name, int64_t stride = 0);

    /// A float64 number for each local replica, zero at first, which the host reaches.
    Rows numbers(const std::string& name);

    /// Rows of the parameters' shape that are no state: written anew in every iteration before they
    /// are read.
    Buffer scratch() { return scratch(stride_); }
    Buffer scratch(int64_t stride);
    Buffer reached_scratch(int64_t stride);  ///< the same where the host reaches it
    Buffer readable_scratch();               ///< the same in readable memory
    /// Rows of their own for what is sent, where others read it in place; else no rows.
    Buffer message() { return readable_ ? readable_scratch() : Buffer(); }

    /// Declares `bytes` bytes that live elsewhere (a counter, a cursor, a generator's state).
    void bytes(const std::string& name, void* data, size_t bytes);
    template <class T>
    void value(const std::string& name, T& value) {
        bytes(name, &value, sizeof value);
    }

    struct Entry {
        std::string name;
        Buffer buffer;         ///< of rows; empty for bytes
        void* data = nullptr;  ///< of bytes
        size_t size = 0;       ///< bytes in all on this rank
    };
    const std::deque<Entry>& entries() const { return entries_; }
    size_t total_bytes() const;
    /// Elements of all that was declared, scratch included, for each replica.
    int64_t elements_per_replica() const { return elements_; }

private:
    Rows declare(const std::string& name, Buffer buffer);

    DType type_;
    int64_t first_, count_, stride_;
    Memory readable_;
    int64_t elements_ = 0;
    std::deque<Entry> entries_;
};

}  // namespace dbench::arena
