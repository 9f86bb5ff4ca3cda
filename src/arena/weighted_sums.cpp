// X <- W X over the rows of one process.

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_set>

#include "arena/kernels.hpp"
#include "arena/loops.hpp"
#include "arena/past_caches.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

constexpr int kTogether = 8;  // terms in one loop; more go in turns, in the same order

/// How a sum is formed: as it stands; or of weighted differences from its first row, with that row
/// or without.
enum class Form { sum, mean, change };

/// The row that differences are taken from, and the sum of all weights.
template <class T>
struct Base {
    const T* row;
    T total;
};

/// out = sum of kCount terms, after what is in `out` already if kMore; of a mean, the base comes
/// to it if kLast.
template <class T, Form kForm, int kCount, bool kMore, bool kLast>
DBENCH_INLINE void add_terms(Base<T> base, const T* const* rows, const T* weights, int64_t begin,
                             int64_t count, T* out) {
    const T* row[kCount];
    T weight[kCount];
    for (int k = 0; k < kCount; ++k) {
        row[k] = rows[k] + begin;
        weight[k] = weights[k];
    }
    constexpr bool kAround = kForm != Form::sum;
    const T* const from = kAround ? base.row + begin : nullptr;
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) {
        const T origin = kAround ? from[c] : T{0};
        const auto term = [&](int k) DBENCH_INLINE_LAMBDA {
            return weight[k] * (kAround ? row[k][c] - origin : row[k][c]);
        };
        T sum = kMore ? out[c] + term(0) : term(0);
#pragma GCC unroll 8
        for (int k = 1; k < kCount; ++k) sum += term(k);
        out[c] = kForm == Form::mean && kLast ? base.total * origin + sum : sum;
    }
}

template <class T, Form kForm, bool kMore>
DBENCH_INLINE void add_last(Base<T> base, const T* const* rows, const T* weights, int64_t terms,
                            int64_t begin, int64_t count, T* out) {
    switch (terms) {
        case 1:
            return add_terms<T, kForm, 1, kMore, true>(base, rows, weights, begin, count, out);
        case 2:
            return add_terms<T, kForm, 2, kMore, true>(base, rows, weights, begin, count, out);
        case 3:
            return add_terms<T, kForm, 3, kMore, true>(base, rows, weights, begin, count, out);
        case 4:
            return add_terms<T, kForm, 4, kMore, true>(base, rows, weights, begin, count, out);
        case 5:
            return add_terms<T, kForm, 5, kMore, true>(base, rows, weights, begin, count, out);
        case 6:
            return add_terms<T, kForm, 6, kMore, true>(base, rows, weights, begin, count, out);
        case 7:
            return add_terms<T, kForm, 7, kMore, true>(base, rows, weights, begin, count, out);
        default:
            return add_terms<T, kForm, 8, kMore, true>(base, rows, weights, begin, count, out);
    }
}

template <class T, Form kForm>
DBENCH_INLINE void add_body(Base<T> base, const T* const* rows, const T* weights, int64_t terms,
                            int64_t begin, int64_t count, T* out) {
    if (terms <= kTogether) {
        return add_last<T, kForm, false>(base, rows, weights, terms, begin, count, out);
    }
    add_terms<T, kForm, kTogether, false, false>(base, rows, weights, begin, count, out);
    int64_t k = kTogether;
    for (; terms - k > kTogether; k += kTogether) {
        add_terms<T, kForm, kTogether, true, false>(base, rows + k, weights + k, begin, count, out);
    }
    add_last<T, kForm, true>(base, rows + k, weights + k, terms - k, begin, count, out);
}

/// What a form makes of its first row alone.
template <class T>
DBENCH_INLINE void fill_body(Form form, Base<T> base, int64_t begin, int64_t count, T* out) {
    if (form != Form::mean) {
        std::fill(out, out + count, T{0});
        return;
    }
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < count; ++c) out[c] = base.total * base.row[begin + c];
}

/// Of a mean weights[0] is the sum of all of them, of a change it does not matter.
template <class T>
DBENCH_INLINE void form_body(Form form, const T* const* rows, const T* weights, int64_t terms,
                             int64_t begin, int64_t count, T* out) {
    const bool around = form != Form::sum;
    const Base<T> base = around ? Base<T>{rows[0], weights[0]} : Base<T>{};
    rows += around;
    weights += around;
    terms -= around;
    if (terms == 0) return fill_body(form, base, begin, count, out);
    switch (form) {
        case Form::sum:
            return add_body<T, Form::sum>(base, rows, weights, terms, begin, count, out);
        case Form::mean:
            return add_body<T, Form::mean>(base, rows, weights, terms, begin, count, out);
        case Form::change:
            return add_body<T, Form::change>(base, rows, weights, terms, begin, count, out);
    }
}

DBENCH_CLONES void add(Form form, const float* const* rows, const float* weights, int64_t terms,
                       int64_t begin, int64_t count, float* out) {
    form_body(form, rows, weights, terms, begin, count, out);
}
DBENCH_CLONES void add(Form form, const double* const* rows, const double* weights, int64_t terms,
                       int64_t begin, int64_t count, double* out) {
    form_body(form, rows, weights, terms, begin, count, out);
}

/// The sum of the weights; exactly 1 where that is what they mean.
double total(const std::vector<Term>& terms) {
    double sum = 0;
    for (const Term& term : terms) sum += term.weight;
    return std::abs(sum - 1) < 1e-9 ? 1 : sum;
}

/// The terms of all outputs one after another, in the element type.
template <class T>
struct Plan {
    std::vector<const T*> rows;
    std::vector<T> weights;
    std::vector<int64_t> first;      // of output i's terms; one more at the end
    std::vector<const T*> distinct;  // source rows in the order of their first use
    bool in_place = false;           // an output is a source

    Plan(std::span<const std::vector<Term>> terms, const Rows& out, Form form) {
        std::unordered_set<const void*> seen;
        for (const std::vector<Term>& sum : terms) {
            DBENCH_EXPECT(form == Form::sum || !sum.empty());
            first.push_back(static_cast<int64_t>(rows.size()));
            for (const Term& term : sum) {
                rows.push_back(static_cast<const T*>(term.row));
                weights.push_back(static_cast<T>(term.weight));
                if (seen.insert(term.row).second) distinct.push_back(rows.back());
            }
            if (form == Form::mean) weights[first.back()] = static_cast<T>(total(sum));
        }
        first.push_back(static_cast<int64_t>(rows.size()));
        for (int64_t i = 0; i < out.count; ++i) in_place |= seen.contains(out.row<T>(i));
    }
};

/// Where the result of a tile is put first, and how it gets from there to its rows.
enum class Store { direct, in_place, past_caches };

/// Going past the caches saves reading the lines that are about to be overwritten, but leaves
/// nothing in the caches: only for more than they hold.
template <class T>
Store store_of(const Plan<T>& plan, const Rows& out, Columns columns) {
    constexpr int64_t kCached = int64_t{16} << 20;
    if (plan.in_place) return Store::in_place;
    const bool large = out.count * columns.count() * size_of(out.type) > kCached;
    return large ? Store::past_caches : Store::direct;
}

template <class T>
void run(std::span<const std::vector<Term>> terms, Rows out, Columns columns, Form form) {
    const Plan<T> plan(terms, out, form);
    const Store store = store_of(plan, out, columns);
    count_passes(out.type, columns, static_cast<int64_t>(plan.distinct.size()), out.count,
                 Kernel::mixing);
    const int64_t count = out.count, sources = static_cast<int64_t>(plan.distinct.size());
    const int64_t width = tile_width(sources, sizeof(T));
    const int64_t kept = store == Store::in_place ? count : store == Store::past_caches ? 1 : 0;
    const auto scratch = std::make_unique_for_overwrite<T[]>(kept * width);

    for (int64_t begin = columns.begin; begin < columns.end; begin += width) {
        const int64_t here = std::min(width, columns.end - begin);
        const int64_t next = begin + here, ahead = std::min(width, columns.end - next);
        for (int64_t i = 0; i < count; ++i) {
            for (int64_t s = i * sources / count; s < (i + 1) * sources / count; ++s) {
                prefetch(plan.distinct[s] + next, ahead);
            }
            T* target = out.row<T>(i) + begin;
            T* result = store == Store::in_place      ? scratch.get() + i * width
                        : store == Store::past_caches ? scratch.get()
                                                      : target;
            const int64_t first = plan.first[i];
            const T* const* rows = plan.rows.data() + first;
            const T* weights = plan.weights.data() + first;
            const int64_t count_of = plan.first[i + 1] - first;
            add(form, rows, weights, count_of, begin, here, result);
            if (store == Store::past_caches) copy_past_caches(result, target, here);
        }
        if (store != Store::in_place) continue;
        for (int64_t i = 0; i < count; ++i) {
            std::copy_n(scratch.get() + i * width, here, out.row<T>(i) + begin);
        }
    }
    if (store == Store::past_caches) finish_past_caches();
}

void run(std::span<const std::vector<Term>> terms, Rows out, Columns columns, Form form) {
    DBENCH_EXPECT(static_cast<int64_t>(terms.size()) == out.count);
    DBENCH_EXPECT(out.space == Space::host);
    if (columns.count() <= 0) return;
    with_type(out.type, [&]<class T>() { run<T>(terms, out, columns, form); });
}

}  // namespace

void weighted_sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns) {
    run(terms, out, columns, Form::sum);
}

void weighted_means(std::span<const std::vector<Term>> terms, Rows out, Columns columns) {
    run(terms, out, columns, Form::mean);
}

void weighted_changes(std::span<const std::vector<Term>> terms, Rows out, Columns columns) {
    run(terms, out, columns, Form::change);
}

}  // namespace dbench::arena
