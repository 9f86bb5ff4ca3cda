#pragma once
// Rows as messages of matrices of low rank, tensor by tensor, and adding such messages to rows. A
// tensor M is taken as a matrix with a row for each index of its first dimension; its part is P,
// row after row, and then Q: of P Q', P = orth(M Z), Q = M' P, for numbers Z that are given. What
// is made and read here may be computed on a queue.

#include <cstdint>
#include <span>
#include <vector>

#include "arena/device/placed.hpp"
#include "arena/device/queue.hpp"
#include "arena/layout.hpp"
#include "arena/messages/message_parts.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// A tensor's part.
struct LowRankPart {
    int64_t column, numel;  ///< of the tensor
    int64_t rows, columns;  ///< of the matrix; 0 and 0 where it goes as it is
    int64_t at;             ///< bytes of a message before it
    int64_t z, p;           ///< numbers of Z, and of P, in the parts before it
    constexpr bool whole() const { return rows == 0; }
};

/// A row of a matrix, some of its columns, or elements of a tensor that goes as it is.
struct LowRankPiece {
    int64_t part;
    int64_t begin, count;
};

/// Messages of rows of one layout. All addresses are multiples of 4.
class LowRankParts {
public:
    /// Tensors of one dimension, and those that would not become smaller, go as they are.
    LowRankParts(const Layout& layout, DType type, int64_t rank);

    int64_t bytes() const { return bytes_; }  ///< of a message
    int64_t rank() const { return rank_; }
    int64_t numbers() const { return z_; }  ///< of Z, for a row
    const std::vector<LowRankPart>& parts() const { return parts_.values(); }

    /// Row i's message to the beginning of row i of `messages`; row i of `z`, float64, has
    /// rank() vectors of `columns` numbers for each part that is a matrix. Columns of P that are,
    /// to rounding, combinations of those before them become 0.
    void encode(Rows v, Rows z, Rows messages, Queue* queue = nullptr);
    /// out_i += sum of factor Q(v) over row i's messages, in their order; elements are rounded
    /// after each product.
    void add(Rows out, std::span<const std::vector<WeighedMessage>> messages,
             Queue* queue = nullptr) const;

private:
    const Layout& layout_;
    DType type_;
    int64_t rank_;
    Placed<LowRankPart> parts_;
    Placed<int64_t> matrices_;  // parts
    Placed<LowRankPiece> by_rows_, by_columns_;
    int64_t bytes_ = 0, z_ = 0, p_ = 0;
    Buffer products_;  // float64, [rows, p_]: P, vector after vector
};

}  // namespace dbench::arena
