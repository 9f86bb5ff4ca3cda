#include "arena/kernels/weighted_sums.hpp"

#include <unordered_set>

#include "arena/kernels.hpp"
#include "arena/kernels/launch.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

double total(const std::vector<Term>& terms) {
    double sum = 0;
    for (const Term& term : terms) sum += term.weight;
    return meant(sum);
}

/// The terms of all outputs one after another, in the element type.
template <class T>
struct Plan {
    std::vector<const T*> rows;
    std::vector<T> weights;
    std::vector<int64_t> first;      // of output i's terms; one more at the end
    std::vector<const T*> distinct;  // source rows in the order of their first use
    bool in_place = false;           // an output is a source

    Plan(std::span<const std::vector<Term>> terms, const Rows& out, SumForm form) {
        std::unordered_set<const void*> seen;
        for (const std::vector<Term>& sum : terms) {
            DBENCH_EXPECT(form == SumForm::sum || !sum.empty());
            first.push_back(static_cast<int64_t>(rows.size()));
            for (const Term& term : sum) {
                rows.push_back(static_cast<const T*>(term.row));
                weights.push_back(static_cast<T>(term.weight));
                if (seen.insert(term.row).second) distinct.push_back(rows.back());
            }
            if (form == SumForm::mean) weights[first.back()] = static_cast<T>(total(sum));
        }
        first.push_back(static_cast<int64_t>(rows.size()));
        for (int64_t i = 0; i < out.count; ++i) in_place |= seen.contains(out.row<T>(i));
    }
};

/// Going past the caches saves reading the lines that are about to be overwritten, but leaves
/// nothing in the caches: only for more than they hold.
template <class T>
SumStore store_of(const Plan<T>& plan, const Rows& out, Columns columns) {
    constexpr int64_t kCached = int64_t{16} << 20;
    if (plan.in_place) return SumStore::in_place;
    const bool large = out.count * columns.count() * size_of(out.type) > kCached;
    return large ? SumStore::past_caches : SumStore::direct;
}

template <class T>
DBENCH_INLINE void run(const WeightedSums<T>& body) {
    run_blocks(body);
    if (body.store == SumStore::past_caches) finish_past_caches();
}

}  // namespace

DBENCH_CLONES void on_host(const WeightedSums<float>& body) { run(body); }
DBENCH_CLONES void on_host(const WeightedSums<double>& body) { run(body); }

namespace {

template <class T>
void sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns, SumForm form,
          Queue* queue) {
    const auto plan = std::make_shared<const Plan<T>>(terms, out, form);
    const int64_t sources = static_cast<int64_t>(plan->distinct.size());
    count_passes(out.type, columns, sources, out.count, Kernel::mixing);
    const WeightedSums<T> body{
        .form = form,
        .store = store_of(*plan, out, columns),
        .rows = placed(queue, plan, plan->rows),
        .weights = placed(queue, plan, plan->weights),
        .first = placed(queue, plan, plan->first),
        .distinct = placed(queue, plan, plan->distinct),
        .sources = sources,
        .out = out,
        .columns = columns,
        .width = tile_width(sources, sizeof(T)),
    };
    const auto accesses = [&] {
        std::vector<Access> all = {writes(out, columns)};
        for (const T* row : plan->distinct) {
            all.push_back(reads(row + columns.begin, columns.count() * size_of(out.type)));
        }
        return all;
    };
    launch(queue, "weighted_sums", body, accesses);
}

void sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns, SumForm form,
          Queue* queue) {
    DBENCH_EXPECT(static_cast<int64_t>(terms.size()) == out.count);
    DBENCH_EXPECT(out.space == Space::host);
    if (columns.count() <= 0) return;
    with_type(out.type, [&]<class T>() { sums<T>(terms, out, columns, form, queue); });
}

}  // namespace

void weighted_sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                   Queue* queue) {
    sums(terms, out, columns, SumForm::sum, queue);
}

void weighted_means(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                    Queue* queue) {
    sums(terms, out, columns, SumForm::mean, queue);
}

void weighted_changes(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                      Queue* queue) {
    sums(terms, out, columns, SumForm::change, queue);
}

}  // namespace dbench::arena
