#pragma once
// Weighted sums over rows that came in 16 bits, read as they are.

#include <span>

#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A row as its words (address of the first column that is summed) and its weight.
struct CodedTerm {
    const uint16_t* words;
    double weight;
};

/// out = x + sum over j of w_j (D(q_j) - Q(x)), in the order of the terms, or the sum alone if
/// `change`, for `count` elements; D decodes, Q rounds. out may be x. One pass over all rows.
void coded_mean(Codec codec, DType type, const void* x, std::span<const CodedTerm> terms,
                bool change, void* out, int64_t count, Queue* queue = nullptr);

/// The same where what is averaged with has been decoded: out = x + (mean - Q(x)).
void coded_shift(Codec codec, DType type, const void* x, const void* mean, bool change, void* out,
                 int64_t count, Queue* queue = nullptr);

}  // namespace dbench::arena
