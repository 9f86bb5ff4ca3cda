#pragma once
// Copies arrays from any memory into columns of rows, many arrays per launch. Used to collect
// gradients from where the backward pass leaves them, and to reorder weights for a pass.

#include <cstdint>
#include <span>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A source array: `count` numbers per row for the row's columns from `begin` on.
struct RowPart {
    const void* from;  ///< Numbers of the first row; null means zeros.
    int64_t stride;    ///< Distance between rows in elements.
    int64_t begin, count;
    /// Size of the transposed matrices: matrices [columns, lines], one after another, become
    /// [lines, columns]. 0: no transposition.
    int32_t lines = 0, columns = 0;
    int64_t out_stride =
        0;  ///< Distance of rows in the destination, in elements; 0 means to.stride.
};

/// Replaces the contents of `to`, or adds to them if `adds`. All arrays must have the type of `to`.
/// The launch on `queue` only declares what it writes: the accesses of the surrounding launch must
/// include what it reads.
void fill_parts(Rows to, std::span<const RowPart> parts, bool adds, Queue& queue = host_queue());

}  // namespace dbench::arena
