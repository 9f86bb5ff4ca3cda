#include "arena/updates/qg_adam.hpp"

#include "arena/updates/qg_adam_kernel.hpp"
#include "arena/updates/update.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const QgAdam<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const QgAdam<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const QgAdamMoments<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const QgAdamMoments<double>& body) { run_blocks(body); }

void qg_adam_update(const Layout& layout, Rows out, Rows base, Rows gradient, Rows first,
                    Rows second, Columns columns, const QgAdamHyperparameters& n,
                    double* squared_update, Queue& queue) {
    const double t = static_cast<double>(n.step);
    count_update(base, base, {}, columns, 2, 0);
    const SegmentGrid grid(layout, out.count, columns, squared_update, queue);
    const auto accesses = [&] {
        return list_accesses(grid, {base, gradient, first, second}, {out});
    };
    with_type(out.type, [&]<class T>() {
        const QgAdam<T> body{
            .grid = grid,
            .out = out,
            .base = base,
            .gradient = gradient,
            .first = first,
            .second = second,
            .step_size = static_cast<T>(n.lr / (1 - std::pow(n.beta1, t))),
            .root_correction = static_cast<T>(std::sqrt(1 - std::pow(n.beta2, t))),
            .eps = static_cast<T>(n.eps),
            .beta1 = static_cast<T>(n.beta1),
            .beta2 = static_cast<T>(n.beta2),
            .one_minus_beta2 = static_cast<T>(1 - n.beta2),
        };
        launch(queue, "qg_adam_update", body, accesses);
    });
}

void qg_adam_moments(const Layout& layout, Rows before, Rows after, const double* factor,
                     Rows first, Rows second, Columns columns, const QgAdamHyperparameters& n,
                     Queue& queue) {
    count_passes(first.type, columns, 4 * first.count, 2 * first.count, Kernel::update);
    const SegmentGrid grid(layout, first.count, columns, nullptr, queue);
    const auto accesses = [&] {
        std::vector<Access> all = list_accesses(grid, {before, after}, {first, second});
        all.push_back(reads(factor, first.count * static_cast<int64_t>(sizeof(double))));
        return all;
    };
    with_type(first.type, [&]<class T>() {
        const QgAdamMoments<T> body{
            .grid = grid,
            .before = before,
            .after = after,
            .first = first,
            .second = second,
            .factor = factor,
            .beta1 = static_cast<T>(n.beta1),
            .one_minus_beta1 = static_cast<T>(1 - n.beta1),
            .beta2 = static_cast<T>(n.beta2),
            .one_minus_beta2 = static_cast<T>(1 - n.beta2),
        };
        launch(queue, "qg_adam_moments", body, accesses);
    });
}

}  // namespace dbench::arena
