// X <- W X over the rows of one process.

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "arena/kernels.hpp"
#include "arena/loops.hpp"
#include "arena/stream.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

constexpr int kTogether = 8;  // terms in one loop; more go in turns, in the same order

/// out = sum of kCount terms, after what is in `out` already if kMore.
template <class T, int kCount, bool kMore>
DBENCH_INLINE void add_terms(const T* const* rows, const T* weights, int64_t begin, int64_t count,
                             T* out) {
    const T* row[kCount];
    T weight[kCount];
    for (int k = 0; k < kCount; ++k) {
        row[k] = rows[k] + begin;
        weight[k] = weights[k];
    }
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) {
        T sum = kMore ? out[c] + weight[0] * row[0][c] : weight[0] * row[0][c];
#pragma GCC unroll 8
        for (int k = 1; k < kCount; ++k) sum += weight[k] * row[k][c];
        out[c] = sum;
    }
}

template <class T, bool kMore>
DBENCH_INLINE void add_some(const T* const* rows, const T* weights, int terms, int64_t begin,
                            int64_t count, T* out) {
    switch (terms) {
        case 1:
            return add_terms<T, 1, kMore>(rows, weights, begin, count, out);
        case 2:
            return add_terms<T, 2, kMore>(rows, weights, begin, count, out);
        case 3:
            return add_terms<T, 3, kMore>(rows, weights, begin, count, out);
        case 4:
            return add_terms<T, 4, kMore>(rows, weights, begin, count, out);
        case 5:
            return add_terms<T, 5, kMore>(rows, weights, begin, count, out);
        case 6:
            return add_terms<T, 6, kMore>(rows, weights, begin, count, out);
        case 7:
            return add_terms<T, 7, kMore>(rows, weights, begin, count, out);
        default:
            return add_terms<T, 8, kMore>(rows, weights, begin, count, out);
    }
}

template <class T>
DBENCH_INLINE void sum_body(const T* const* rows, const T* weights, int64_t terms, int64_t begin,
                            int64_t count, T* out) {
    if (terms == 0) {
        std::fill(out, out + count, T{0});
        return;
    }
    const int64_t first = std::min<int64_t>(terms, kTogether);
    add_some<T, false>(rows, weights, static_cast<int>(first), begin, count, out);
    for (int64_t k = first; k < terms; k += kTogether) {
        const int some = static_cast<int>(std::min<int64_t>(terms - k, kTogether));
        add_some<T, true>(rows + k, weights + k, some, begin, count, out);
    }
}

DBENCH_CLONES void sum(const float* const* rows, const float* weights, int64_t terms, int64_t begin,
                       int64_t count, float* out) {
    sum_body(rows, weights, terms, begin, count, out);
}
DBENCH_CLONES void sum(const double* const* rows, const double* weights, int64_t terms,
                       int64_t begin, int64_t count, double* out) {
    sum_body(rows, weights, terms, begin, count, out);
}

/// The terms of all outputs one after another, in the element type.
template <class T>
struct Plan {
    std::vector<const T*> rows;
    std::vector<T> weights;
    std::vector<int64_t> first;      // of output i's terms; one more at the end
    std::vector<const T*> distinct;  // source rows in the order of their first use
    bool in_place = false;           // an output is a source

    Plan(std::span<const std::vector<Term>> terms, const Rows& out) {
        std::unordered_set<const void*> seen;
        for (const std::vector<Term>& sum : terms) {
            first.push_back(static_cast<int64_t>(rows.size()));
            for (const Term& term : sum) {
                rows.push_back(static_cast<const T*>(term.row));
                weights.push_back(static_cast<T>(term.weight));
                if (seen.insert(term.row).second) distinct.push_back(rows.back());
            }
        }
        first.push_back(static_cast<int64_t>(rows.size()));
        for (int64_t i = 0; i < out.count; ++i) in_place |= seen.contains(out.row<T>(i));
    }
};

/// Where the result of a tile is put first, and how it gets from there to its rows.
enum class Store { direct, in_place, streamed };

/// Streaming saves reading the lines that are about to be overwritten, but leaves nothing in the
/// caches: only for more than they hold.
template <class T>
Store store_of(const Plan<T>& plan, const Rows& out, Columns columns) {
    constexpr int64_t kCached = int64_t{16} << 20;
    if (plan.in_place) return Store::in_place;
    const bool large = out.count * columns.count() * size_of(out.type) > kCached;
    return large ? Store::streamed : Store::direct;
}

template <class T>
void run(std::span<const std::vector<Term>> terms, Rows out, Columns columns) {
    const Plan<T> plan(terms, out);
    const Store store = store_of(plan, out, columns);
    const int64_t count = out.count, sources = static_cast<int64_t>(plan.distinct.size());
    const int64_t width = tile_width(sources, sizeof(T));
    const int64_t kept = store == Store::in_place ? count : store == Store::streamed ? 1 : 0;
    const auto scratch = std::make_unique_for_overwrite<T[]>(kept * width);

    for (int64_t begin = columns.begin; begin < columns.end; begin += width) {
        const int64_t here = std::min(width, columns.end - begin);
        const int64_t next = begin + here, ahead = std::min(width, columns.end - next);
        for (int64_t i = 0; i < count; ++i) {
            for (int64_t s = i * sources / count; s < (i + 1) * sources / count; ++s) {
                prefetch(plan.distinct[s] + next, ahead);
            }
            T* target = out.row<T>(i) + begin;
            T* result = store == Store::in_place   ? scratch.get() + i * width
                        : store == Store::streamed ? scratch.get()
                                                   : target;
            const int64_t first = plan.first[i];
            sum(plan.rows.data() + first, plan.weights.data() + first, plan.first[i + 1] - first,
                begin, here, result);
            if (store == Store::streamed) stream(result, target, here);
        }
        if (store != Store::in_place) continue;
        for (int64_t i = 0; i < count; ++i) {
            std::copy_n(scratch.get() + i * width, here, out.row<T>(i) + begin);
        }
    }
    if (store == Store::streamed) finish_streams();
}

}  // namespace

void weighted_sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns) {
    DBENCH_EXPECT(static_cast<int64_t>(terms.size()) == out.count);
    DBENCH_EXPECT(out.space == Space::host);
    if (columns.count() <= 0) return;
    with_type(out.type, [&]<class T>() { run<T>(terms, out, columns); });
}

}  // namespace dbench::arena
