#include "arena/updates/adaptive.hpp"

#include "arena/updates/adaptive_kernel.hpp"
#include "arena/updates/update.hpp"

namespace dbench::arena {
namespace {

/// Returns 1 - beta^step, the bias correction of a moving average that began at 0.
double correction(double beta, int64_t step) {
    return 1 - std::pow(beta, static_cast<double>(step));
}

}  // namespace

DBENCH_CLONES void on_host(const Dadam<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Dadam<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const LargestMoments<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const LargestMoments<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const DescentBySize<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const DescentBySize<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AdaptiveApproach<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AdaptiveApproach<double>& body) { run_blocks(body); }

void dadam_update(const Layout& layout, Rows out, Rows base, Rows gradient, Rows first, Rows second,
                  Rows long_term, Columns columns, const DadamHyperparameters& n,
                  double* squared_update, Queue& queue) {
    count_update(base, base, {}, columns, 3, 3);
    const SegmentGrid grid(layout, out.count, columns, squared_update, queue);
    const auto accesses = [&] {
        return list_accesses(grid, {base, gradient}, {out, first, second, long_term});
    };
    with_type(out.type, [&]<class T>() {
        const Dadam<T> body{
            .grid = grid,
            .out = out,
            .base = base,
            .gradient = gradient,
            .first = first,
            .second = second,
            .long_term = long_term,
            .step_size = static_cast<T>(n.lr / correction(n.beta1, n.step)),
            .share = static_cast<T>(1 / correction(n.beta2, n.step)),
            .eps = static_cast<T>(n.eps),
            .beta1 = static_cast<T>(n.beta1),
            .one_minus_beta1 = static_cast<T>(1 - n.beta1),
            .beta2 = static_cast<T>(n.beta2),
            .one_minus_beta2 = static_cast<T>(1 - n.beta2),
            .beta3 = static_cast<T>(n.beta3),
            .one_minus_beta3 = static_cast<T>(1 - n.beta3),
        };
        launch(queue, "dadam_update", body, accesses);
    });
}

void largest_moments(const Layout& layout, Rows gradient, Rows first, Rows second, Rows largest,
                     Columns columns, double beta1, double beta2, double eps, Queue& queue) {
    count_passes(first.type, columns, 4 * first.count, 4 * first.count, Kernel::update);
    const SegmentGrid grid(layout, first.count, columns, nullptr, queue);
    const auto accesses = [&] {
        return list_accesses(grid, {}, {gradient, first, second, largest});
    };
    with_type(first.type, [&]<class T>() {
        const LargestMoments<T> body{
            .grid = grid,
            .gradient = gradient,
            .first = first,
            .second = second,
            .largest = largest,
            .beta1 = static_cast<T>(beta1),
            .one_minus_beta1 = static_cast<T>(1 - beta1),
            .beta2 = static_cast<T>(beta2),
            .one_minus_beta2 = static_cast<T>(1 - beta2),
            .eps = static_cast<T>(eps),
        };
        launch(queue, "largest_moments", body, accesses);
    });
}

void descend_by_size(const Layout& layout, Rows out, Rows base, Rows direction, Rows size,
                     Columns columns, double lr, double eps, double* squared_update, Queue& queue) {
    count_update(base, base, {}, columns, 1, 0);
    const SegmentGrid grid(layout, out.count, columns, squared_update, queue);
    const auto accesses = [&] { return list_accesses(grid, {base, direction, size}, {out}); };
    with_type(out.type, [&]<class T>() {
        const DescentBySize<T> body{
            .grid = grid,
            .out = out,
            .base = base,
            .direction = direction,
            .size = size,
            .lr = static_cast<T>(lr),
            .eps = static_cast<T>(eps),
        };
        launch(queue, "descend_by_size", body, accesses);
    });
}

void approach_adaptively(const Layout& layout, Rows x, Rows from, Rows to, Rows squared,
                         Columns columns, const ApproachHyperparameters& n, Queue& queue) {
    count_passes(x.type, columns, 4 * x.count, 2 * x.count, Kernel::update);
    const SegmentGrid grid(layout, x.count, columns, nullptr, queue);
    const auto accesses = [&] { return list_accesses(grid, {from, to}, {x, squared}); };
    with_type(x.type, [&]<class T>() {
        const AdaptiveApproach<T> body{
            .grid = grid,
            .x = x,
            .from = from,
            .to = to,
            .squared = squared,
            .gamma = static_cast<T>(n.gamma),
            .beta = static_cast<T>(n.beta),
            .rest = static_cast<T>(1 - n.beta),
            .share = static_cast<T>(1 / correction(n.beta, n.step)),
        };
        launch(queue, "approach_adaptively", body, accesses);
    });
}

}  // namespace dbench::arena
