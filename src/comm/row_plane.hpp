#pragma once
// The plane of rows: what training exchanges, few large messages, straight from and into the rows.

#include <cstdint>
#include <memory>

#include "arena/rows.hpp"
#include "comm/plane.hpp"

namespace dbench::comm {

class RowPlane : public Plane {
public:
    /// to = sum over ranks of `from`, in an order of the library's choosing; all ranks start their
    /// sums in the same order. `from` is not `to`: MPI would want that on all ranks or none. Throws
    /// RunError as `start` does, and where there is no library that sums.
    virtual std::unique_ptr<Transfer> start_sum(arena::DType type, const void* from, void* to,
                                                int64_t count) = 0;
};

}  // namespace dbench::comm
