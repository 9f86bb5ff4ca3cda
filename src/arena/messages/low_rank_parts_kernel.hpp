#pragma once
// The kernel bodies of low-rank messages (low_rank_parts.hpp): products of matrices with few
// vectors. Sums along a row of M, and along a vector, use lanes (lanes.hpp); sums down a column add
// in the order of rows. All sums are in float64.

#include <cmath>

#include "arena/grid/words.hpp"
#include "arena/messages/low_rank_parts.hpp"
#include "arena/messages/products.hpp"

namespace dbench::arena {

/// The grid: a block for each piece of each row.
struct LowRankGrid {
    const LowRankPart* parts;
    const LowRankPiece* pieces;
    int64_t count;  ///< Pieces per row.
    int64_t rows, rank;
    Rows products;  ///< P of each row.

    struct Place {
        int64_t row;
        LowRankPiece piece;
        LowRankPart part;
    };
    constexpr int64_t blocks() const { return rows * count; }
    constexpr Place at(int64_t index) const {
        const LowRankPiece piece = pieces[index % count];
        return {index / count, piece, parts[piece.part]};
    }
};

/// Computes the vectors of P = M Z: a block per row of M. Copies a tensor that is sent unchanged to
/// its message.
template <class T>
struct RowProducts {
    LowRankGrid grid;
    Rows rows, z;
    char* messages;
    int64_t stride;  // In bytes.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return scratch_for<Lanes>(1); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto [row, piece, part] = grid.at(index);
        const T* const x = rows.row<const T>(row) + part.column;
        if (part.whole()) {
            char* const to = messages + row * stride + part.at;
            block.for_each(piece.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                set_nth_word(to, piece.begin + c, x[piece.begin + c]);
            });
            return;
        }
        Lanes* const lanes = block.template scratch<Lanes>(1);
        double* const out = grid.products.row<double>(row) + part.p + piece.begin;
        for (int64_t k = 0; k < grid.rank; ++k) {
            const double sum = dot(block, lanes, part.columns, x + piece.begin * part.columns,
                                   z.row<const double>(row) + part.z + k * part.columns);
            block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { out[k * part.rows] = sum; });
        }
    }
};

/// Makes P orthonormal (modified Gram-Schmidt) and writes it to the message: a block for each
/// matrix.
template <class T>
struct Orthonormalise {
    LowRankGrid grid;
    const int64_t* matrices;
    int64_t count;  // Matrices per row.
    char* messages;
    int64_t stride;  // In bytes.

    constexpr int64_t blocks() const { return grid.rows * count; }
    constexpr int64_t scratch_bytes() const { return 2 * scratch_for<Lanes>(1); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t row = index / count, rank = grid.rank;
        const LowRankPart part = grid.parts[matrices[index % count]];
        double* const p = grid.products.row<double>(row) + part.p;
        // Two sets of lanes alternate: a thread may still read one set while others start on the
        // next product.
        Lanes* const lanes[2] = {block.template scratch<Lanes>(1),
                                 block.template scratch<Lanes>(1)};
        int turn = 0;
        const auto product = [&](const double* a, const double* b) DBENCH_INLINE_LAMBDA {
            turn = 1 - turn;
            return dot(block, lanes[turn], part.rows, a, b);
        };
        for (int64_t k = 0; k < rank; ++k) {
            double* const mine = p + k * part.rows;
            const double before = product(mine, mine);
            for (int64_t j = 0; j < k; ++j) {
                const double* const other = p + j * part.rows;
                const double share = product(other, mine);
                block.for_each(part.rows, [=](int64_t i) DBENCH_INLINE_LAMBDA {
                    mine[i] -= share * other[i];
                });
            }
            const double left = product(mine, mine);
            const double scale = left > 1e-24 * before ? 1 / std::sqrt(left) : 0;
            block.for_each(part.rows, [=](int64_t i) DBENCH_INLINE_LAMBDA { mine[i] *= scale; });
        }
        char* const to = messages + row * stride + part.at;
        for (int64_t k = 0; k < rank; ++k) {
            block.for_each(part.rows, [=](int64_t i) DBENCH_INLINE_LAMBDA {
                set_nth_word(to, i * rank + k, static_cast<T>(p[k * part.rows + i]));
            });
        }
    }
};

/// Computes Q = M' P and writes it to the message: a block for some columns of M.
template <class T>
struct ColumnProducts {
    static constexpr int64_t kWidth = 256;

    LowRankGrid grid;
    Rows rows;
    char* messages;
    int64_t stride;  // In bytes.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return scratch_for<double>(kWidth); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto [row, piece, part] = grid.at(index);
        const int64_t rank = grid.rank;
        const T* const x = rows.row<const T>(row) + part.column + piece.begin;
        const double* const p = grid.products.row<const double>(row) + part.p;
        char* const to =
            messages + row * stride + part.at + part.rows * rank * static_cast<int64_t>(sizeof(T));
        double* const sums = block.template scratch<double>(kWidth);
        for (int64_t k = 0; k < rank; ++k) {
            sum_rows(block, x, part.rows, part.columns, p + k * part.rows, piece.count, sums);
            block.for_each(piece.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                set_nth_word(to, (piece.begin + c) * rank + k, static_cast<T>(sums[c]));
            });
        }
    }
};

template <class T>
struct AddLowRank {
    LowRankGrid grid;
    Rows out;
    const WeightedMessage* messages;
    const int64_t* first;  // [rows + 1]: index of each row's first message.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto [row, piece, part] = grid.at(index);
        const int64_t rank = grid.rank;
        T* const tensor = out.row<T>(row) + part.column;
        for (int64_t m = first[row]; m < first[row + 1]; ++m) {
            const char* const from = messages[m].message + part.at;
            const T factor = static_cast<T>(messages[m].factor);
            if (part.whole()) {
                block.for_each(piece.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                    tensor[piece.begin + c] += factor * nth_word<T>(from, piece.begin + c);
                });
                continue;
            }
            T* const to = tensor + piece.begin * part.columns;
            const char* const q = from + part.rows * rank * static_cast<int64_t>(sizeof(T));
            const char* const p = from + piece.begin * rank * static_cast<int64_t>(sizeof(T));
            switch (rank) {
                case 1:
                    add<1>(block, factor, p, q, rank, to, part.columns);
                    break;
                case 2:
                    add<2>(block, factor, p, q, rank, to, part.columns);
                    break;
                case 4:
                    add<4>(block, factor, p, q, rank, to, part.columns);
                    break;
                default:
                    for (int64_t k = 0; k < rank; ++k) {
                        const int64_t before = k * static_cast<int64_t>(sizeof(T));
                        add<0>(block, factor, p + before, q + before, rank, to, part.columns);
                    }
            }
        }
    }

private:
    /// Adds a row of the first kRank products if the rank is kRank; kRank = 0 adds a row of one
    /// product.
    template <int kRank, class Block>
    static DBENCH_INLINE void add(Block& block, T factor, const char* p, const char* q,
                                  int64_t rank, T* to, int64_t columns) {
        constexpr int kProducts = kRank == 0 ? 1 : kRank;
        T left[kProducts];
        for (int k = 0; k < kProducts; ++k) left[k] = factor * nth_word<T>(p, k);
        const int64_t stride = kRank == 0 ? rank : kRank;
        block.for_each(columns, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            T sum = to[c];
            DBENCH_UNROLL
            for (int k = 0; k < kProducts; ++k) sum += left[k] * nth_word<T>(q, c * stride + k);
            to[c] = sum;
        });
    }
};

}  // namespace dbench::arena
