#include "arena/updates/adam_kernel.hpp"

#include "arena/updates/update.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const Adam<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Adam<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const UpdateOfMeans<float, Adam<float>>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const UpdateOfMeans<double, Adam<double>>& body) { run_blocks(body); }

namespace {

/// Makes the body of an Adam update and calls work(body).
template <class Work>
void with_adam(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows first,
               Rows second, Rows largest, Columns columns, const AdamHyperparameters& numbers,
               double* squared_update, Queue& queue, const Work& work) {
    DBENCH_EXPECT(out.count == base.count && out.count == at.count && out.count == gradient.count);
    DBENCH_EXPECT(out.count == first.count && out.count == second.count && numbers.step >= 1);
    DBENCH_EXPECT(numbers.decay.size() == layout.tensors().size());
    const int64_t state = largest.count > 0 ? 3 : 2;
    count_update(base, at, numbers.decay.values(), columns, state, state);
    const SegmentGrid grid(layout, out.count, columns, squared_update, queue);
    with_type(out.type, [&]<class T>() {
        work(Adam<T>{
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
        });
    });
}

}  // namespace

void adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows first,
                 Rows second, Rows largest, Columns columns, const AdamHyperparameters& numbers,
                 double* squared_update, Queue& queue) {
    with_adam(layout, out, base, at, gradient, first, second, largest, columns, numbers,
              squared_update, queue, [&](const auto& body) {
                  launch(queue, "adam_update", body, [&] {
                      return list_accesses(body.grid, {base, at, gradient},
                                           {out, first, second, largest});
                  });
              });
}

void adam_update_of_means(const Layout& layout, Rows out, std::span<const std::vector<Term>> base,
                          Rows at, Rows gradient, Rows first, Rows second, Rows largest,
                          Columns columns, const AdamHyperparameters& numbers,
                          double* squared_update) {
    with_adam(layout, out, at, at, gradient, first, second, largest, columns, numbers,
              squared_update, host_queue(),
              [&]<class T>(const Adam<T>& body) { update_means<T>(body, base); });
}

void adam_update_and_mix(const Layout& layout, Rows out, Rows x, Rows gradient, Rows first,
                         Rows second, Rows largest, Columns columns,
                         const AdamHyperparameters& numbers, double* squared_update,
                         const Mixing& mixing, Queue& queue) {
    with_adam(layout, out, x, x, gradient, first, second, largest, columns, numbers, squared_update,
              queue, [&]<class T>(const Adam<T>& body) {
                  launch_and_mix<T>(queue, "adam_update_and_mix", layout, body,
                                    {first, second, largest}, mixing);
              });
}

}  // namespace dbench::arena
