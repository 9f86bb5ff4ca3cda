#pragma once
// Messages that hold a low-rank approximation of each tensor of a row, and the addition of such
// messages to rows. A tensor M is treated as a matrix with a row for each index of its first
// dimension. Its part of the message is P, row after row, followed by Q. The approximation is P Q'
// with P = orth(M Z) and Q = M' P for given numbers Z. All functions can run on a queue.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/device/read_only_array.hpp"
#include "arena/layout.hpp"
#include "arena/messages/message_parts.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A tensor's part of a message.
struct LowRankPart {
    int64_t column, numel;  ///< Columns of the tensor in a row.
    int64_t rows, columns;  ///< Size of the matrix; 0 and 0 if the tensor is sent unchanged.
    int64_t at;             ///< Byte offset of the part in a message.
    int64_t z, p;           ///< Numbers of Z and of P in earlier parts.
    constexpr bool whole() const { return rows == 0; }
};

/// The part of a tensor that one block processes: a row of a matrix, some of its columns, or
/// elements of a tensor that is sent unchanged.
struct LowRankPiece {
    int64_t part;
    int64_t begin, count;
};

/// Makes and adds messages for the rows of one layout. All addresses are multiples of 4.
class LowRankParts {
public:
    /// Tensors of one dimension, and those whose message would not be smaller, are sent unchanged.
    LowRankParts(const Layout& layout, DType type, int64_t rank);

    int64_t bytes() const { return bytes_; }  ///< Bytes of a message.
    int64_t rank() const { return rank_; }
    int64_t numbers() const { return z_; }  ///< Numbers of Z per row.
    const std::vector<LowRankPart>& parts() const { return parts_.values(); }

    /// Writes row i's message to the beginning of row i of `messages`. Row i of `z`, float64, holds
    /// rank() vectors of `columns` numbers for each part that is a matrix. Columns of P become 0 if
    /// they are, up to rounding, linear combinations of earlier columns.
    void encode(Rows v, Rows z, Rows messages, Queue& queue = host_queue());
    /// Computes out_i += sum of factor Q(v) over row i's messages, in their order. Elements are
    /// rounded after each product.
    void add(Rows out, std::span<const std::vector<WeightedMessage>> messages,
             Queue& queue = host_queue()) const;

private:
    const Layout& layout_;
    DType type_;
    int64_t rank_;
    ReadOnlyArray<LowRankPart> parts_;
    ReadOnlyArray<int64_t> matrices_;  // Indices of parts.
    ReadOnlyArray<LowRankPiece> by_rows_, by_columns_;
    int64_t bytes_ = 0, z_ = 0, p_ = 0;
    Buffer products_;  // float64, [rows, p_]: P, vector after vector.
};

}  // namespace dbench::arena
