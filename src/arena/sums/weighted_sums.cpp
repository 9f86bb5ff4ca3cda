#include "arena/sums/weighted_sums_kernel.hpp"

#include <algorithm>

#include "arena/grid/launch.hpp"
#include "arena/kernels.hpp"
#include "arena/sums/sum_plan.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"

namespace dbench::arena {
namespace {

template <class T>
DBENCH_INLINE void run(const WeightedSums<T>& body) {
    run_blocks(body);
    if (body.store == SumStore::non_temporal) non_temporal_fence();
}

}  // namespace

DBENCH_CLONES void on_host(const WeightedSums<float>& body) { run(body); }
DBENCH_CLONES void on_host(const WeightedSums<double>& body) { run(body); }

namespace {

/// Returns the tile width on a device. In place, a block stores all rows of its tile in scratch
/// memory, so that very many rows need narrow tiles.
int64_t device_width(const Rows& out, bool in_place) {
    const int64_t column = out.count * size_of(out.type), width = device_tile_width(out.count);
    if (!in_place) return width;
    const int64_t fits = (kMaxScratch - 64) / std::max<int64_t>(column, 1);
    if (fits >= width) return width;
    return fits < kColumnAlignment ? std::max<int64_t>(fits, 1)
                                   : fits / kColumnAlignment * kColumnAlignment;
}

/// Returns the tile width if a block of a device first copies the tile of all sources to scratch
/// memory: four blocks fit on a multiprocessor of compute capability 9.0, as long as there are not
/// too many sources. Returns 0 if not even narrow tiles fit.
int64_t width_of_copies(int64_t sources, int64_t element_size) {
    constexpr int64_t kScratch = 52 * 1024, kWidest = 1024;
    const int64_t column = sources * element_size;
    if (column * kColumnAlignment > kMaxScratch - 64) return 0;
    int64_t width = kWidest;
    while (width > kColumnAlignment && column * width > kScratch) width /= 2;
    return width;
}

template <class T>
void sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns, SumForm form,
          Queue& queue) {
    constexpr int64_t kPack = 16;  // In bytes.
    const auto plan = std::make_shared<const SumPlan<T>>(terms, out, form);
    const int64_t sources = plan->sources();
    count_passes(out.type, columns, sources, out.count, Kernel::mixing);
    const bool immediate = queue.immediate();
    const int64_t copied = immediate ? 0 : width_of_copies(sources, sizeof(T));
    const int64_t width = immediate    ? tile_width(sources, sizeof(T))
                          : copied > 0 ? copied
                                       : device_width(out, plan->in_place);
    const WeightedSums<T> body{
        .form = form,
        .store = plan->in_place ? SumStore::in_place
                 : immediate    ? choose_store(out, columns)
                                : SumStore::direct,
        .rows = readable_on(queue, plan, plan->rows),
        .weights = readable_on(queue, plan, plan->weights),
        .first = readable_on(queue, plan, plan->first),
        .distinct = readable_on(queue, plan, plan->distinct),
        .sources = sources,
        .out = out,
        .columns = columns,
        .width = width,
        .in_packs =
            !immediate && width % kColumnAlignment == 0 && plan->aligned(out, columns.begin, kPack),
        .which = copied > 0 ? readable_on(queue, plan, plan->which) : nullptr,
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
          Queue& queue) {
    DBENCH_EXPECT(static_cast<int64_t>(terms.size()) == out.count);
    DBENCH_EXPECT(!queue.immediate() || out.space == Space::host);
    if (columns.count() <= 0) return;
    with_type(out.type, [&]<class T>() { sums<T>(terms, out, columns, form, queue); });
}

}  // namespace

void weighted_sums(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                   Queue& queue) {
    sums(terms, out, columns, SumForm::sum, queue);
}

void weighted_means(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                    Queue& queue) {
    sums(terms, out, columns, SumForm::mean, queue);
}

void weighted_changes(std::span<const std::vector<Term>> terms, Rows out, Columns columns,
                      Queue& queue) {
    sums(terms, out, columns, SumForm::change, queue);
}

}  // namespace dbench::arena
