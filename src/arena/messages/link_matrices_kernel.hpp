#pragma once
// The kernel bodies of PowerGossip's messages (link_matrices.hpp): products of tensors with the
// known vectors of links. Sums along a row of a matrix, and along a vector, use lanes (lanes.hpp);
// sums down a column add in the order of rows. All sums are in float64.

#include <cmath>

#include "arena/messages/link_matrices.hpp"
#include "arena/messages/message_parts_kernel.hpp"
#include "arena/messages/products.hpp"

namespace dbench::arena {

/// The location of vectors of links: `each` numbers for each of a row's links.
struct LinkVectors {
    Rows rows;
    int64_t each;

    template <class T>
    DBENCH_INLINE T* of(int64_t row, int64_t link) const {
        return rows.row<T>(row) + link * each;
    }
};

/// Normalises the known vectors: a block for each matrix of each link.
template <class T>
struct NormaliseVectors {
    const LinkMatrix* matrices;
    const int64_t* matrix_indices;
    int64_t count;
    const MatrixLink* links;
    int64_t all_links;
    LinkVectors known;
    LinkFactor found;
    Draws draws;

    constexpr int64_t blocks() const { return all_links * count; }
    constexpr int64_t scratch_bytes() const { return 2 * scratch_for<Lanes>(1); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const MatrixLink link = links[index / count];
        const int64_t number = matrix_indices[index % count];
        const LinkMatrix m = matrices[number];
        const int64_t numel = found == LinkFactor::p ? m.columns : m.rows;
        T* const v = known.of<T>(link.row, link.number) + (found == LinkFactor::p ? m.q : m.p);
        Lanes* const drawn_or_not[2] = {block.template scratch<Lanes>(1),
                                        block.template scratch<Lanes>(1)};
        double squares = dot(block, drawn_or_not[0], numel, v, v);
        if (squares == 0) {
            const uint64_t key = key_of(draws, {link.low, link.high, draws.iteration, number});
            block.for_each((numel + 1) / 2, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                const base::PhiloxBlock words = base::block_of(key, static_cast<uint64_t>(c));
                const double a = base::uniform_of(words.word[0], words.word[1]);
                const double b = base::uniform_of(words.word[2], words.word[3]);
                v[2 * c] = static_cast<T>(2 * a - 1);
                if (2 * c + 1 < numel) v[2 * c + 1] = static_cast<T>(2 * b - 1);
            });
            squares = dot(block, drawn_or_not[1], numel, v, v);
        }
        const double scale = 1 / std::sqrt(squares);
        block.for_each(numel, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            v[c] = static_cast<T>(static_cast<double>(v[c]) * scale);
        });
    }
};

/// The common parts of kernels that make messages over links.
struct SendingLinks {
    const LinkMatrix* matrices;
    const LinkPiece* pieces;
    int64_t count;  ///< Pieces per link.
    const MatrixLink* links;
    int64_t all_links;
    Rows x;
    LinkVectors known, messages;
    int64_t vectors;  ///< Number of elements of a message before those that are sent unchanged.

    constexpr int64_t blocks() const { return all_links * count; }

    /// Copies the piece to the message and returns true if its tensor is sent unchanged; else
    /// returns false.
    template <class T, class Block>
    DBENCH_INLINE bool send_whole(Block& block, const MatrixLink& link, const LinkPiece& piece,
                                  const LinkMatrix& m) const {
        if (m.columns > 0) return false;
        const T* const from = x.row<const T>(link.row) + m.column + piece.begin;
        T* const to = messages.of<T>(link.row, link.number) + vectors + m.whole + piece.begin;
        block.for_each(piece.count, [=](int64_t c) DBENCH_INLINE_LAMBDA { to[c] = from[c]; });
        return true;
    }
};

/// Computes H q for a tensor H: a block per row of H.
template <class T>
struct LinkRowProducts {
    SendingLinks s;

    constexpr int64_t blocks() const { return s.blocks(); }
    constexpr int64_t scratch_bytes() const { return scratch_for<Lanes>(1); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const MatrixLink link = s.links[index / s.count];
        const LinkPiece piece = s.pieces[index % s.count];
        const LinkMatrix m = s.matrices[piece.matrix];
        if (s.send_whole<T>(block, link, piece, m)) return;
        Lanes* const lanes = block.template scratch<Lanes>(1);
        const double sum = dot(block, lanes, m.columns,
                               s.x.row<const T>(link.row) + m.column + piece.begin * m.columns,
                               s.known.of<const T>(link.row, link.number) + m.q);
        T* const to = s.messages.of<T>(link.row, link.number) + m.p + piece.begin;
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { *to = static_cast<T>(sum); });
    }
};

/// Computes H' p for a tensor H: a block for some columns of H.
template <class T>
struct LinkColumnProducts {
    static constexpr int64_t kWidth = 256;

    SendingLinks s;

    constexpr int64_t blocks() const { return s.blocks(); }
    constexpr int64_t scratch_bytes() const { return scratch_for<double>(kWidth); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const MatrixLink link = s.links[index / s.count];
        const LinkPiece piece = s.pieces[index % s.count];
        const LinkMatrix m = s.matrices[piece.matrix];
        if (s.send_whole<T>(block, link, piece, m)) return;
        const T* const h = s.x.row<const T>(link.row) + m.column + piece.begin;
        const T* const p = s.known.of<const T>(link.row, link.number) + m.p;
        T* const to = s.messages.of<T>(link.row, link.number) + m.q + piece.begin;
        double* const sums = block.template scratch<double>(kWidth);
        sum_rows(block, h, m.rows, m.columns, p, piece.count, sums);
        block.for_each(piece.count,
                       [=](int64_t c) DBENCH_INLINE_LAMBDA { to[c] = static_cast<T>(sums[c]); });
    }
};

/// The common parts of kernels that apply received messages.
struct ReceivedLinks {
    const ReceivedOverLink* received;
    const int64_t* first;  ///< [rows + 1]: index of each row's first message.
    LinkVectors messages;
};

/// Computes the vectors p or q of all links: a block for every kWidth numbers.
template <class T>
struct FindVectors {
    static constexpr int64_t kWidth = 4096;

    ReceivedLinks h;
    int64_t rows;
    LinkVectors found;

    constexpr int64_t in_row() const { return (found.each + kWidth - 1) / kWidth; }
    constexpr int64_t blocks() const { return rows * in_row(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t row = index / in_row(), begin = index % in_row() * kWidth;
        const int64_t count = kWidth < found.each - begin ? kWidth : found.each - begin;
        for (int64_t k = h.first[row]; k < h.first[row + 1]; ++k) {
            const int64_t link = k - h.first[row];
            const T* const mine = h.messages.of<const T>(row, link) + begin;
            const T* const theirs = reinterpret_cast<const T*>(h.received[k].message) + begin;
            T* const to = found.of<T>(row, link) + begin;
            const T* const low = h.received[k].first ? mine : theirs;
            const T* const high = h.received[k].first ? theirs : mine;
            block.for_each(count,
                           [=](int64_t c) DBENCH_INLINE_LAMBDA { to[c] = low[c] - high[c]; });
        }
    }
};

/// Moves x towards the other ends of its links: a block per row of a matrix.
template <class T>
struct ApproachOverLinks {
    ReceivedLinks h;
    const LinkMatrix* matrices;
    const LinkPiece* pieces;
    int64_t count;  // Pieces per row.
    Rows x;
    LinkVectors p, q;
    int64_t vectors;  // Number of elements of a message before those that are sent unchanged.

    constexpr int64_t blocks() const { return x.count * count; }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t row = index / count;
        const LinkPiece piece = pieces[index % count];
        const LinkMatrix m = matrices[piece.matrix];
        T* const tensor = x.row<T>(row) + m.column;
        for (int64_t k = h.first[row]; k < h.first[row + 1]; ++k) {
            const int64_t link = k - h.first[row];
            const ReceivedOverLink one = h.received[k];
            if (m.columns == 0) {
                const int64_t at = vectors + m.whole + piece.begin;
                const T* const mine = h.messages.of<const T>(row, link) + at;
                const T* const theirs = reinterpret_cast<const T*>(one.message) + at;
                T* const to = tensor + piece.begin;
                const T weight = static_cast<T>(one.weight);
                block.for_each(piece.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                    to[c] += weight * (theirs[c] - mine[c]);
                });
                continue;
            }
            const double towards = one.first ? -one.weight : one.weight;
            const T left = p.of<const T>(row, link)[m.p + piece.begin];
            const T scale = static_cast<T>(towards * static_cast<double>(left));
            const T* const right = q.of<const T>(row, link) + m.q;
            T* const to = tensor + piece.begin * m.columns;
            block.for_each(m.columns,
                           [=](int64_t c) DBENCH_INLINE_LAMBDA { to[c] += scale * right[c]; });
        }
    }
};

}  // namespace dbench::arena
