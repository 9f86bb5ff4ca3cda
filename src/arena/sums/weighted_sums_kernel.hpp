#pragma once
// The kernel body of X <- W X over the rows of one process: a block for each tile of columns, which
// computes all rows of the result in these columns.

#include <cmath>

#include "arena/grid/block.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Returns the sum of weights without rounding errors: 1 if `total` differs from 1 by less than
/// 1e-9.
inline double exact_total(double total) { return std::abs(total - 1) < 1e-9 ? 1 : total; }

/// The form of a sum. `sum`: the weighted sum. `mean`: the first row plus weighted differences from
/// it. `change`: the weighted differences only.
enum class SumForm : uint8_t { sum, mean, change };

/// How the results of a tile are stored. `direct`: immediately. `in_place`: in scratch memory until
/// all rows of the tile are computed, because a row of the result is a source. `non_temporal`: by
/// non-temporal stores.
enum class SumStore : uint8_t { direct, in_place, non_temporal };

template <class T>
struct WeightedSums {
    static constexpr int kMaxTerms = 8;  // Terms per loop; further terms are added in further
                                         // loops, in the same order.
    static constexpr int kMinBlocksPerProcessor = kMinBlocksOfPacks<T>;

    SumForm form;
    SumStore store;
    const T* const* rows;      // The terms of all sums, one after another.
    const T* weights;          // The first weight of a mean is the sum of its weights.
    const int64_t* first;      // Index of sum i's first term; one more entry at the end.
    const T* const* distinct;  // Source rows in the order of their first use.
    int64_t sources;           // Number of source rows.
    Rows out;
    Columns columns;
    int64_t width;  // Width of a tile.
    bool in_packs;  // True if tiles of all rows begin at multiples of 16 bytes.
    // On a device: index in `distinct` of each term, if a block first copies the tile of all
    // sources to scratch memory; else null.
    const int32_t* which = nullptr;

    constexpr int64_t blocks() const { return (columns.count() + width - 1) / width; }
    constexpr int64_t scratch_bytes() const {
        if (which) return scratch_for<T>(sources * width);
        const int64_t kept = store == SumStore::in_place       ? out.count
                             : store == SumStore::non_temporal ? 1
                                                               : 0;
        return scratch_for<T>(kept * width);
    }

    template <class Block>
    DBENCH_INLINE void operator()(Block& block, int64_t index) const {
        const int64_t begin = columns.begin + index * width;
        const int64_t here = std::min(width, columns.end - begin);
        T* const kept = block.template scratch<T>(scratch_bytes() / sizeof(T));
        if constexpr (Block::kManyThreads) {
            with_many_threads(block, begin, here, kept);
        } else {
            with_one_thread(block, begin, here, kept);
        }
    }

    template <class Block>
    DBENCH_INLINE void with_one_thread(Block& block, int64_t begin, int64_t here, T* kept) const {
        const int64_t next = begin + here, ahead = std::min(width, columns.end - next);
        for (int64_t i = 0; i < out.count; ++i) {
            prefetch(block, i, next, ahead);
            T* const target = out.row<T>(i) + begin;
            T* const result = store == SumStore::in_place       ? kept + i * width
                              : store == SumStore::non_temporal ? kept
                                                                : target;
            switch (form) {
                case SumForm::sum:
                    add<SumForm::sum>(block, i, begin, here, result);
                    break;
                case SumForm::mean:
                    add<SumForm::mean>(block, i, begin, here, result);
                    break;
                case SumForm::change:
                    add<SumForm::change>(block, i, begin, here, result);
                    break;
            }
            if (store == SumStore::non_temporal) block.copy_non_temporal(here, result, target);
        }
        if (store != SumStore::in_place) return;
        for (int64_t i = 0; i < out.count; ++i) {
            const T* const result = kept + i * width;
            T* const target = out.row<T>(i) + begin;
            block.for_each(here, [=](int64_t c) DBENCH_INLINE_LAMBDA { target[c] = result[c]; });
        }
    }

    /// Computes all sums at once. The tile of each source is read once from memory, unless there
    /// are so many sources that it does not fit into the scratch memory.
    template <class Block>
    DBENCH_INLINE void with_many_threads(Block& block, int64_t begin, int64_t here, T* kept) const {
        const WeightedSums s = *this;
        if (which) {
            copy_tile(block, begin, here, kept);
            add_all(
                block, here,
                [=](int k) DBENCH_INLINE_LAMBDA { return kept + s.which[k] * s.width; },
                [=](int64_t i) DBENCH_INLINE_LAMBDA { return s.out.template row<T>(i) + begin; });
            return;
        }
        const bool in_place = store == SumStore::in_place;
        add_all(
            block, here, [=](int k) DBENCH_INLINE_LAMBDA { return s.rows[k] + begin; },
            [=](int64_t i) DBENCH_INLINE_LAMBDA {
                return in_place ? kept + i * s.width : s.out.template row<T>(i) + begin;
            });
        if (!in_place) return;
        for_all(block, here, [=](int64_t i) DBENCH_INLINE_LAMBDA {
            const Elements<const T> result(kept + i * s.width);
            const Elements<T> target(s.out.template row<T>(i) + begin);
            return [=](auto c) DBENCH_INLINE_LAMBDA { target[c] = result[c]; };
        });
    }
    /// Copies `here` columns from `begin` on of all sources.
    template <class Block>
    DBENCH_INLINE void copy_tile(Block& block, int64_t begin, int64_t here, T* to) const {
        const WeightedSums s = *this;
        const auto read = [=](int64_t i) DBENCH_INLINE_LAMBDA {
            const Elements<const T> row(s.distinct[i] + begin);
            return [=](auto c) DBENCH_INLINE_LAMBDA { return row[c]; };
        };
        const auto write = [=](int64_t i) DBENCH_INLINE_LAMBDA {
            const Elements<T> copy(to + i * s.width);
            return [=](auto c, auto value) DBENCH_INLINE_LAMBDA { copy[c] = value; };
        };
        if (in_packs) {
            block.template for_packs<T>(sources, here, read, write);
        } else {
            block.for_rows(sources, here, read, write);
        }
    }
    /// Computes `here` columns of all sums. row(k) is the address of term k in the first column,
    /// target(i) that of sum i. A thread computes one element, or a pack, and reads a few terms
    /// ahead of the additions. The additions keep their order; a term may be read twice.
    template <class Block, class RowOf, class Target>
    DBENCH_INLINE void add_all(Block& block, int64_t here, const RowOf& row,
                               const Target& target) const {
        constexpr int kAhead = 4;
        struct Terms {
            Elements<const T> row[kAhead];
            T weight[kAhead];
        };
        const WeightedSums s = *this;
        for_all(block, here, [=](int64_t i) DBENCH_INLINE_LAMBDA {
            const bool relative = s.form != SumForm::sum;
            const int at = static_cast<int>(s.first[i]) + relative;
            const int end = static_cast<int>(s.first[i + 1]);
            const auto take = [=](int next) DBENCH_INLINE_LAMBDA {
                Terms terms;
                DBENCH_UNROLL
                for (int j = 0; j < kAhead; ++j) {
                    const int k = next + j < end ? next + j : next;
                    terms.row[j] = row(k);
                    terms.weight[j] = s.weights[k];
                }
                return terms;
            };
            const Elements<const T> base = relative ? row(at - 1) : nullptr;
            const T total = s.form == SumForm::mean ? s.weights[at - 1] : T{0};
            const Terms near = at < end ? take(at) : Terms{};
            const Elements<T> result = target(i);
            return [=](auto c) DBENCH_INLINE_LAMBDA {
                using V = Value<T, decltype(c)>;
                const V origin = relative ? V(base[c]) : V(T{0});
                V sum = T{0};
                const auto add = [&](const Terms& terms, int next) DBENCH_INLINE_LAMBDA {
                    V x[kAhead];
                    DBENCH_UNROLL
                    for (int j = 0; j < kAhead; ++j) x[j] = terms.row[j][c];
                    DBENCH_UNROLL
                    for (int j = 0; j < kAhead; ++j) {
                        if (next + j >= end) break;
                        const V term = terms.weight[j] * (relative ? x[j] - origin : x[j]);
                        sum = next + j == at ? term : sum + term;
                    }
                };
                if (at < end) add(near, at);
                for (int next = at + kAhead; next < end; next += kAhead) add(take(next), next);
                result[c] = s.form != SumForm::mean ? sum
                            : at == end             ? total * origin
                                                    : total * origin + sum;
            };
        });
    }
    template <class Block, class Work>
    DBENCH_INLINE void for_all(Block& block, int64_t here, const Work& work) const {
        if (in_packs) {
            block.template for_packs<T>(out.count, here, work);
        } else {
            block.for_rows(out.count, here, work);
        }
    }

    /// Computes sum i in `count` columns from `begin` on into `result`.
    template <SumForm kForm, class Block>
    DBENCH_INLINE void add(Block& block, int64_t i, int64_t begin, int64_t count, T* result) const {
        constexpr bool kRelative = kForm != SumForm::sum;
        const int64_t at = first[i] + kRelative, terms = first[i + 1] - at;
        const Base base = kRelative ? Base{rows[at - 1], weights[at - 1]} : Base{};
        if (terms == 0) return fill(block, base, begin, count, result);
        add_form<kForm>(block, base, rows + at, weights + at, terms, begin, count, result);
    }

    /// Prefetches, while sum i is computed, its share of the sources' next `count` columns from
    /// `next` on. The processor itself prefetches a few sources, so nothing is done for these.
    template <class Block>
    DBENCH_INLINE void prefetch(Block& block, int64_t i, int64_t next, int64_t count) const {
        constexpr int64_t kFollowed = 4;
        if (sources <= kFollowed) return;
        for (int64_t s = i * sources / out.count; s < (i + 1) * sources / out.count; ++s) {
            block.prefetch(distinct[s] + next, count);
        }
    }

private:
    /// The row that differences are relative to, and the sum of all weights.
    struct Base {
        const T* row;
        T total;
    };

    /// Computes out = sum of kCount terms; adds them to `out` if kMore. Adds the base of a mean if
    /// kLast.
    template <SumForm kForm, int kCount, bool kMore, bool kLast, class Block>
    static DBENCH_INLINE void add_terms(Block& block, Base base, const T* const* rows,
                                        const T* weights, int64_t begin, int64_t count, T* out) {
        struct Terms {
            const T* row[kCount];
            T weight[kCount];
        } terms;
        for (int k = 0; k < kCount; ++k) {
            terms.row[k] = rows[k] + begin;
            terms.weight[k] = weights[k];
        }
        constexpr bool kRelative = kForm != SumForm::sum;
        const T* const from = kRelative ? base.row + begin : nullptr;
        const T all = base.total;
        block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
            const T origin = kRelative ? from[c] : T{0};
            const auto term = [&](int k) DBENCH_INLINE_LAMBDA {
                return terms.weight[k] * (kRelative ? terms.row[k][c] - origin : terms.row[k][c]);
            };
            T sum = kMore ? out[c] + term(0) : term(0);
            DBENCH_UNROLL
            for (int k = 1; k < kCount; ++k) sum += term(k);
            out[c] = kForm == SumForm::mean && kLast ? all * origin + sum : sum;
        });
    }

    template <SumForm kForm, bool kMore, class Block>
    static DBENCH_INLINE void add_last(Block& block, Base base, const T* const* rows,
                                       const T* weights, int64_t terms, int64_t begin,
                                       int64_t count, T* out) {
        switch (terms) {
            case 1:
                return add_terms<kForm, 1, kMore, true>(block, base, rows, weights, begin, count,
                                                        out);
            case 2:
                return add_terms<kForm, 2, kMore, true>(block, base, rows, weights, begin, count,
                                                        out);
            case 3:
                return add_terms<kForm, 3, kMore, true>(block, base, rows, weights, begin, count,
                                                        out);
            case 4:
                return add_terms<kForm, 4, kMore, true>(block, base, rows, weights, begin, count,
                                                        out);
            case 5:
                return add_terms<kForm, 5, kMore, true>(block, base, rows, weights, begin, count,
                                                        out);
            case 6:
                return add_terms<kForm, 6, kMore, true>(block, base, rows, weights, begin, count,
                                                        out);
            case 7:
                return add_terms<kForm, 7, kMore, true>(block, base, rows, weights, begin, count,
                                                        out);
            default:
                return add_terms<kForm, 8, kMore, true>(block, base, rows, weights, begin, count,
                                                        out);
        }
    }

    template <SumForm kForm, class Block>
    static DBENCH_INLINE void add_form(Block& block, Base base, const T* const* rows,
                                       const T* weights, int64_t terms, int64_t begin,
                                       int64_t count, T* out) {
        if (terms <= kMaxTerms) {
            return add_last<kForm, false>(block, base, rows, weights, terms, begin, count, out);
        }
        add_terms<kForm, kMaxTerms, false, false>(block, base, rows, weights, begin, count, out);
        int64_t k = kMaxTerms;
        for (; terms - k > kMaxTerms; k += kMaxTerms) {
            add_terms<kForm, kMaxTerms, true, false>(block, base, rows + k, weights + k, begin,
                                                     count, out);
        }
        add_last<kForm, true>(block, base, rows + k, weights + k, terms - k, begin, count, out);
    }

    /// Computes the result of a sum without further terms.
    template <class Block>
    DBENCH_INLINE void fill(Block& block, Base base, int64_t begin, int64_t count,
                            T* result) const {
        const T* const from = form == SumForm::mean ? base.row + begin : nullptr;
        const T all = base.total;
        with_flag(from != nullptr, [&](auto has_row) DBENCH_INLINE_LAMBDA {
            block.for_each(count, [=](int64_t c) DBENCH_INLINE_LAMBDA {
                result[c] = decltype(has_row)::value ? all * from[c] : T{0};
            });
        });
    }
};

}  // namespace dbench::arena
