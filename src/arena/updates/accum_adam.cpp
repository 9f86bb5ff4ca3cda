#include "arena/updates/accum_adam.hpp"

#include "arena/updates/accum_adam_kernel.hpp"
#include "arena/updates/update.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const AccumAdam<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const AccumAdam<double>& body) { run_blocks(body); }

void accum_adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient,
                       Rows first, Rows second, Rows accumulated, Columns columns,
                       const AccumAdamHyperparameters& numbers, double* squared_update,
                       Queue& queue) {
    const AdamHyperparameters& adam = numbers.adam;
    DBENCH_EXPECT(out.count == base.count && out.count == at.count && out.count == gradient.count);
    DBENCH_EXPECT(out.count == first.count && out.count == second.count);
    DBENCH_EXPECT(out.count == accumulated.count && adam.step >= 1 && numbers.window >= 1);
    DBENCH_EXPECT(adam.decay.size() == layout.tensors().size());
    const int64_t k = (adam.step + numbers.window - 1) / numbers.window;
    const bool ends_window = adam.step % numbers.window == 0;
    count_update(base, at, adam.decay.values(), columns, 3, ends_window ? 3 : 1);
    const SegmentGrid grid(layout, out.count, columns, squared_update, queue);
    const auto accesses = [&] {
        return ends_window
                   ? list_accesses(grid, {base, at, gradient}, {out, first, second, accumulated})
                   : list_accesses(grid, {base, at, gradient, first, second}, {out, accumulated});
    };
    with_type(out.type, [&]<class T>() {
        const AccumAdam<T> body{
            .grid = grid,
            .out = out,
            .base = base,
            .at = at,
            .gradient = gradient,
            .first = first,
            .second = second,
            .accumulated = accumulated,
            .rule = AdamRule<T>(adam, k),
            .decay = adam.decay.on(queue),
            .part = static_cast<T>(1.0 / static_cast<double>(numbers.window)),
            .ends_window = ends_window,
        };
        launch(queue, "accum_adam_update", body, accesses);
    });
}

}  // namespace dbench::arena
