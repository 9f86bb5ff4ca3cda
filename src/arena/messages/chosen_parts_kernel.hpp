#pragma once
// The kernel bodies of messages of chosen elements (chosen_parts.hpp): a block for each piece of
// each row.
//
// A device finds the largest elements of a tensor by a radix selection, digit by digit of the
// magnitudes, most significant digit first. CountDigits counts in each piece how many elements have
// which digit, among the elements that agree in all earlier digits. FindDigit sums over the pieces
// and finds the digit of the smallest magnitude that is kept. After the last digit this magnitude
// is known, and how many of the elements equal to it are kept; CountChosen and WriteChosen then
// write the message.

#include <cstring>
#include <type_traits>

#include "arena/grid/block.hpp"
#include "arena/grid/words.hpp"
#include "arena/messages/chosen_parts.hpp"

namespace dbench::arena {

/// Returns bits that have the order of magnitudes, in kMagnitudeBits bits. A NaN counts as
/// infinity.
template <class T>
using MagnitudeOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
inline constexpr int kMagnitudeBits = 8 * sizeof(T) - 1;
template <class T>
DBENCH_INLINE MagnitudeOf<T> magnitude_of(T value) {
    using Bits = MagnitudeOf<T>;
    constexpr Bits kInfinity = sizeof(T) == 4 ? Bits{0x7f800000} : Bits(0x7ff0000000000000);
    Bits bits;
    std::memcpy(&bits, &value, sizeof(T));
    bits &= static_cast<Bits>(~Bits{0}) >> 1;
    return bits < kInfinity ? bits : kInfinity;
}

/// The grid: a block for each piece of each row.
struct ChosenGrid {
    const ChosenPart* parts;
    const ChosenPiece* pieces;
    int64_t tensors, count;  ///< Parts and pieces per row.
    int64_t rows;

    struct Place {
        int64_t row;
        ChosenPiece piece;
        ChosenPart part;
    };
    constexpr int64_t blocks() const { return rows * count; }
    constexpr Place at(int64_t index) const {
        const ChosenPiece piece = pieces[index % count];
        return {index / count, piece, parts[piece.part]};
    }
};

/// A digit of the magnitudes: `bits` bits from bit `shift` on.
struct Digit {
    static constexpr int kMost = 11;
    static constexpr int64_t kBins = 1 << kMost;

    int shift, bits;

    /// Returns digit number `round` of T's magnitudes, most significant first; it has 0 bits if
    /// there is none.
    template <class T>
    static constexpr Digit of(int round) {
        const int above = kMagnitudeBits<T> - round * kMost;
        const int bits = above < kMost ? (above < 0 ? 0 : above) : kMost;
        return {above - bits, bits};
    }
    constexpr bool first(int all_bits) const { return shift + bits == all_bits; }
    template <class Bits>
    DBENCH_INLINE int64_t in(Bits magnitude) const {
        return static_cast<int64_t>(magnitude >> shift & ((Bits{1} << bits) - 1));
    }
    /// Returns true if all earlier digits are equal.
    template <class Bits>
    DBENCH_INLINE bool agree(Bits a, Bits b) const {
        return (a ^ b) >> (shift + bits) == 0;
    }
};

/// The state of the selection: per tensor [rows, tensors], and per piece [rows, pieces].
struct Selection {
    uint64_t* least;  ///< The smallest magnitude that is kept: the digits found so far, then zeros.
    uint64_t* left;  ///< Number of elements still to choose among those that agree in these digits.
    uint64_t* in;    ///< Per piece: number of larger elements, plus 2^32 times the number of equal
                     ///< elements.
    uint32_t* digits;  ///< Per piece: [.., kBins].
};
inline constexpr uint64_t kEqual = uint64_t{1} << 32;

template <class T>
struct CountDigits {
    ChosenGrid grid;
    Digit digit;
    Rows rows;
    Selection selection;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return scratch_for<uint32_t>(Digit::kBins); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto [row, piece, part] = grid.at(index);
        const T* const x = rows.row<const T>(row) + part.column + piece.begin;
        MagnitudeOf<T> least = 0;
        if (!digit.first(kMagnitudeBits<T>)) {
            least = static_cast<MagnitudeOf<T>>(selection.least[row * grid.tensors + piece.part]);
        }
        uint32_t* const bins = block.template scratch<uint32_t>(Digit::kBins);
        block.for_each(Digit::kBins, [=](int64_t bin) DBENCH_INLINE_LAMBDA { bins[bin] = 0; });
        const Digit looked_at = digit;
        block.for_each(piece.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const MagnitudeOf<T> size = magnitude_of(x[c]);
            if (looked_at.agree(size, least)) Block::add(bins + looked_at.in(size), 1u);
        });
        uint32_t* const out = selection.digits + index * Digit::kBins;
        block.for_each(Digit::kBins,
                       [=](int64_t bin) DBENCH_INLINE_LAMBDA { out[bin] = bins[bin]; });
    }
};

struct FindDigit {
    ChosenGrid grid;
    Digit digit;
    bool first;
    Selection selection;

    static constexpr int64_t kGroup = 32, kGroups = Digit::kBins / kGroup;

    constexpr int64_t blocks() const { return grid.rows * grid.tensors; }
    constexpr int64_t scratch_bytes() const {
        return scratch_for<uint32_t>(Digit::kBins) + scratch_for<uint32_t>(kGroups);
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const ChosenPart part = grid.parts[index % grid.tensors];
        const uint32_t* const digits =
            selection.digits + (index / grid.tensors * grid.count + part.first) * Digit::kBins;
        uint32_t* const bins = block.template scratch<uint32_t>(Digit::kBins);
        uint32_t* const groups = block.template scratch<uint32_t>(kGroups);
        block.for_each(Digit::kBins, [=](int64_t bin) DBENCH_INLINE_LAMBDA {
            uint32_t sum = 0;
            for (int64_t k = 0; k < part.pieces; ++k) sum += digits[k * Digit::kBins + bin];
            bins[bin] = sum;
        });
        block.for_each(kGroups, [=](int64_t group) DBENCH_INLINE_LAMBDA {
            uint32_t sum = 0;
            for (int64_t k = 0; k < kGroup; ++k) sum += bins[group * kGroup + k];
            groups[group] = sum;
        });
        const FindDigit s = *this;
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA {
            uint64_t left = s.first ? static_cast<uint64_t>(part.kept) : s.selection.left[index];
            int64_t group = kGroups - 1;
            for (; groups[group] < left; --group) left -= groups[group];
            int64_t bin = (group + 1) * kGroup - 1;
            for (; bins[bin] < left; --bin) left -= bins[bin];
            const uint64_t known = s.first ? 0 : s.selection.least[index];
            s.selection.least[index] = known | static_cast<uint64_t>(bin) << s.digit.shift;
            s.selection.left[index] = left;
        });
    }
};

template <class T>
struct CountChosen {
    ChosenGrid grid;
    Rows rows;
    Selection selection;

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return scratch_for<uint64_t>(1); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto [row, piece, part] = grid.at(index);
        const T* const x = rows.row<const T>(row) + part.column + piece.begin;
        const auto least =
            static_cast<MagnitudeOf<T>>(selection.least[row * grid.tensors + piece.part]);
        uint64_t* const sum = block.template scratch<uint64_t>(1);
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { *sum = 0; });
        block.for_each(piece.count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const MagnitudeOf<T> size = magnitude_of(x[c]);
            if (size >= least) Block::add(sum, size > least ? uint64_t{1} : kEqual);
        });
        uint64_t* const out = selection.in + index;
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { *out = *sum; });
    }
};

template <class T>
struct WriteChosen {
    ChosenGrid grid;
    Rows rows;
    Selection selection;
    char* messages;
    int64_t stride;  // In bytes.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return scratch_for<uint64_t>(1); }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto [row, piece, part] = grid.at(index);
        const T* const x = rows.row<const T>(row) + part.column + piece.begin;
        const int64_t tensor = row * grid.tensors + piece.part;
        const auto least = static_cast<MagnitudeOf<T>>(selection.least[tensor]);
        const uint64_t ties = selection.left[tensor];
        uint64_t* const before = block.template scratch<uint64_t>(1);
        block.for_each(1, [=](int64_t) DBENCH_INLINE_LAMBDA { *before = 0; });
        const int64_t pieces_before = index % grid.count - part.first;
        const uint64_t* const in_pieces = selection.in + index - pieces_before;
        block.for_each(pieces_before,
                       [=](int64_t k) DBENCH_INLINE_LAMBDA { Block::add(before, in_pieces[k]); });
        char* const message = messages + row * stride;
        block.running_sums(
            *before, piece.count,
            [=](int64_t c) DBENCH_INLINE_LAMBDA {
                const MagnitudeOf<T> size = magnitude_of(x[c]);
                return size > least ? uint64_t{1} : size == least ? kEqual : uint64_t{0};
            },
            [=](int64_t c, uint64_t sum) DBENCH_INLINE_LAMBDA {
                const MagnitudeOf<T> size = magnitude_of(x[c]);
                const uint64_t larger = sum % kEqual, equal = sum / kEqual;
                if (size < least || (size == least && equal >= ties)) return;
                const auto at = static_cast<int64_t>(larger + (equal < ties ? equal : ties));
                set_nth_word(message + part.indices, at, static_cast<uint32_t>(piece.begin + c));
                set_nth_word(message + part.values, at, x[c]);
            });
    }
};

/// The range of `kept` ascending indices that are in a piece.
struct IndexRange {
    int64_t begin, end;
};
DBENCH_INLINE IndexRange indices_in(const char* indices, int64_t kept, const ChosenPiece& piece) {
    const auto first_from = [=](int64_t index, int64_t low) DBENCH_INLINE_LAMBDA {
        for (int64_t high = kept; low < high;) {
            const int64_t middle = (low + high) / 2;
            if (nth_word<uint32_t>(indices, middle) < index) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    };
    const int64_t begin = first_from(piece.begin, 0);
    return {begin, first_from(piece.begin + piece.count, begin)};
}

template <class T>
struct GatherChosen {
    ChosenGrid grid;
    Rows rows;
    const uint32_t* const* indices;  // [rows]
    char* messages;
    int64_t stride;  // In bytes.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto [row, piece, part] = grid.at(index);
        const uint32_t* const chosen = indices[row] + part.before;
        const IndexRange range =
            indices_in(reinterpret_cast<const char*>(chosen), part.kept, piece);
        const T* const x = rows.row<const T>(row) + part.column;
        char* const to = messages + row * stride + part.values;
        block.for_each(range.end - range.begin, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            set_nth_word(to, range.begin + c, x[chosen[range.begin + c]]);
        });
    }
};

template <class T>
struct AddChosen {
    ChosenGrid grid;
    bool scaled;
    Rows out;
    const ChosenMessage* messages;
    const int64_t* first;  // [rows + 1]: index of each row's first message.

    constexpr int64_t blocks() const { return grid.blocks(); }
    constexpr int64_t scratch_bytes() const { return 0; }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const auto [row, piece, part] = grid.at(index);
        T* const to = out.row<T>(row) + part.column;
        for (int64_t k = first[row]; k < first[row + 1]; ++k) {
            const ChosenMessage one = messages[k];
            T factor = static_cast<T>(one.factor);
            if (scaled) factor *= static_cast<T>(part.numel) / static_cast<T>(part.kept);
            const char* const indices = one.indices + part.indices;
            const char* const values = one.message + part.values;
            const IndexRange range = indices_in(indices, part.kept, piece);
            block.for_each(range.end - range.begin, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                const int64_t n = range.begin + c;
                to[nth_word<uint32_t>(indices, n)] += factor * nth_word<T>(values, n);
            });
        }
    }
};

}  // namespace dbench::arena
