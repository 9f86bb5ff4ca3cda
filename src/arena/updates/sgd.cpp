#include "arena/updates/sgd_kernel.hpp"

#include "arena/kernels.hpp"
#include "arena/updates/update.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const Sgd<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Sgd<double>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const UpdateOfMeans<float, Sgd<float>>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const UpdateOfMeans<double, Sgd<double>>& body) { run_blocks(body); }

namespace {

/// Makes the body of an SGD update and calls work(body).
template <class Work>
void with_sgd(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows velocity,
              Columns columns, const SgdHyperparameters& numbers, double* squared_update,
              Queue& queue, const Work& work) {
    DBENCH_EXPECT(out.count == base.count && out.count == at.count && out.count == gradient.count);
    DBENCH_EXPECT(numbers.momentum == 0 || velocity.count == out.count);
    DBENCH_EXPECT(numbers.decay.size() == layout.tensors().size());
    if (numbers.momentum == 0) velocity = {};
    const int64_t velocities = velocity.count > 0 ? 1 : 0;
    count_update(base, at, numbers.decay.values(), columns, velocities, velocities);
    const SegmentGrid grid(layout, out.count, columns, squared_update, queue);
    with_type(out.type, [&]<class T>() {
        work(Sgd<T>{
            .grid = grid,
            .out = out,
            .base = base,
            .at = at,
            .gradient = gradient,
            .velocity = velocity,
            .lr = static_cast<T>(numbers.lr),
            .momentum = static_cast<T>(numbers.momentum),
            .nesterov = numbers.nesterov,
            .decay = numbers.decay.on(queue),
        });
    });
}

}  // namespace

void sgd_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows velocity,
                Columns columns, const SgdHyperparameters& numbers, double* squared_update,
                Queue& queue) {
    with_sgd(layout, out, base, at, gradient, velocity, columns, numbers, squared_update, queue,
             [&](const auto& body) {
                 launch(queue, "sgd_update", body, [&] {
                     return list_accesses(body.grid, {base, at, gradient}, {out, body.velocity});
                 });
             });
}

void sgd_update_of_means(const Layout& layout, Rows out, std::span<const std::vector<Term>> base,
                         Rows at, Rows gradient, Rows velocity, Columns columns,
                         const SgdHyperparameters& numbers, double* squared_update) {
    with_sgd(layout, out, at, at, gradient, velocity, columns, numbers, squared_update,
             host_queue(), [&]<class T>(const Sgd<T>& body) { update_means<T>(body, base); });
}

void sgd_update_and_mix(const Layout& layout, Rows out, Rows x, Rows gradient, Rows velocity,
                        Columns columns, const SgdHyperparameters& numbers, double* squared_update,
                        const Mixing& mixing, Queue& queue) {
    with_sgd(layout, out, x, x, gradient, velocity, columns, numbers, squared_update, queue,
             [&]<class T>(const Sgd<T>& body) {
                 launch_and_mix<T>(queue, "sgd_update_and_mix", layout, body, {body.velocity},
                                   mixing);
             });
}

}  // namespace dbench::arena
