#include "arena/kernels/adam.hpp"

#include "arena/update.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const Adam<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Adam<double>& body) { run_blocks(body); }

void adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows first,
                 Rows second, Rows largest, Columns columns, const AdamNumbers& numbers,
                 double* squared_update, Queue* queue) {
    DBENCH_EXPECT(out.count == base.count && out.count == at.count && out.count == gradient.count);
    DBENCH_EXPECT(out.count == first.count && out.count == second.count && numbers.step >= 1);
    DBENCH_EXPECT(numbers.decay.size() == layout.tensors().size());
    const int64_t state = largest.count > 0 ? 3 : 2;
    count_update(base, at, numbers.decay.values(), columns, state, state);
    const SegmentGrid grid(layout, out.count, columns, squared_update, queue);
    const auto accesses = [&] {
        return touched(grid, {base, at, gradient}, {out, first, second, largest});
    };
    with_type(out.type, [&]<class T>() {
        const Adam<T> body{
            .grid = grid,
            .out = out,
            .base = base,
            .at = at,
            .gradient = gradient,
            .first = first,
            .second = second,
            .largest = largest,
            .rule = AdamRule<T>(numbers, numbers.step),
            .decay = numbers.decay.on(queue),
        };
        launch(queue, "adam_update", body, accesses);
    });
}

}  // namespace dbench::arena
