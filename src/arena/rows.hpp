#pragma once
// Rows: one flat buffer with a row per replica and a column per parameter.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace dbench::arena {

enum class DType : uint8_t { float32, float64 };
/// The processors that can access the memory. `host`: the host, and a device if there is one.
/// `device`: only a device.
enum class Space : uint8_t { host, device };

constexpr int64_t size_of(DType type) { return type == DType::float32 ? 4 : 8; }

/// Returns the smallest multiple of `step` that is not below `value`.
constexpr int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// Every tensor, and so every range of columns that functions receive, starts at a multiple of this
/// many elements (64 bytes of float32).
inline constexpr int64_t kColumnAlignment = 16;

/// A range of columns [begin, end).
struct Columns {
    int64_t begin, end;
    constexpr int64_t count() const { return end - begin; }
    bool operator==(const Columns&) const = default;
};

/// A view of the rows `first` .. `first + count - 1` (replica numbers). `data` is the start of row
/// `first`, `stride` the distance of rows in elements. Does not own the memory.
struct Rows {
    void* data = nullptr;
    DType type = DType::float32;
    Space space = Space::host;
    int64_t first = 0, count = 0, stride = 0;

    /// Address of column 0 of local row `local`.
    template <class T>
    constexpr T* row(int64_t local) const {
        return static_cast<T*>(data) + local * stride;
    }
    /// Byte address of column `column` of local row `local`.
    char* at(int64_t local, int64_t column) const {
        return static_cast<char*>(data) + (local * stride + column) * size_of(type);
    }
    /// Returns a view of one of these rows, for kernels on a single replica.
    Rows only(int64_t local) const { return {at(local, 0), type, space, first + local, 1, stride}; }
};

/// Allocates memory for rows: returns `bytes` zeroed bytes that start at a page.
using Memory = std::function<std::shared_ptr<void>(int64_t bytes)>;
/// Returns the allocator of the host's own memory, for rows that only the host accesses.
Memory host_memory();

/// Owns the zeroed, 64-byte aligned memory of rows. Large buffers use huge pages if the system
/// provides them. Code that may compute on a device makes rows by Memories::rows
/// (device/memory.hpp) instead, which uses the device's memory.
class Buffer {
public:
    Buffer() = default;
    /// Makes rows in the host's own memory.
    Buffer(DType type, int64_t first, int64_t count, int64_t stride);
    /// Makes rows in memory from an allocator, which is in `space`.
    Buffer(DType type, int64_t first, int64_t count, int64_t stride, const Memory& memory,
           Space space = Space::host);

    Rows rows() const { return rows_; }
    int64_t bytes() const { return rows_.count * rows_.stride * size_of(rows_.type); }

private:
    std::shared_ptr<void> memory_;
    Rows rows_;
};

/// Calls `work.template operator()<T>()` with the element type of `type`.
template <class Work>
decltype(auto) with_type(DType type, Work&& work) {
    return type == DType::float32 ? work.template operator()<float>()
                                  : work.template operator()<double>();
}

}  // namespace dbench::arena
