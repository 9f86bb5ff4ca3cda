#pragma once
// Weighted sums over rows that were received in 16 bits. The kernels read the encoded words
// directly.

#include <span>

#include "arena/messages/element_codec.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// An encoded row (address of its first summed column) and its weight.
struct CodedTerm {
    const uint16_t* words;
    double weight;
};

/// Computes out = x + sum over j of w_j (D(q_j) - Q(x)) in the order of the terms, or only the sum
/// if `change`, for `count` elements. D decodes and Q rounds. `out` may be x. Reads all rows in one
/// pass.
void coded_mean(ElementCodec codec, DType type, const void* x, std::span<const CodedTerm> terms,
                bool change, void* out, int64_t count, Queue& queue = host_queue());

/// Computes out = x + (mean - Q(x)) from a mean of decoded rows, or only mean - Q(x) if `change`.
void coded_shift(ElementCodec codec, DType type, const void* x, const void* mean, bool change,
                 void* out, int64_t count, Queue& queue = host_queue());

}  // namespace dbench::arena
