// SGD as torch.optim.SGD computes it, with dampening 0.

#include "arena/kernels.hpp"
#include "arena/update.hpp"

namespace dbench::arena {
namespace {

template <class T>
struct Sgd {
    T* out;
    const T* base;
    const T* at;
    const T* gradient;
    T* velocity;  // null without momentum
    int64_t count;
    T lr, momentum, decay;
    bool nesterov;
    Lanes* lanes;
};

template <class T>
DBENCH_INLINE void sgd_body(const Sgd<T>& s) {
    const T* at = s.at;
    const T* gradient = s.gradient;
    T* velocity = s.velocity;
    const T lr = s.lr, momentum = s.momentum, decay = s.decay;
    with_flag(velocity != nullptr, [&](auto has_momentum) DBENCH_INLINE_LAMBDA {
        with_flag(s.nesterov, [&](auto nesterov) DBENCH_INLINE_LAMBDA {
            with_flag(decay != 0, [&](auto decays) DBENCH_INLINE_LAMBDA {
                const auto step = [=](int64_t c) DBENCH_INLINE_LAMBDA {
                    T g = gradient[c];
                    if constexpr (decays.value) g += decay * at[c];
                    if constexpr (has_momentum.value) {
                        const T v = momentum * velocity[c] + g;
                        velocity[c] = v;
                        g = nesterov.value ? g + momentum * v : v;
                    }
                    return lr * g;
                };
                subtract(s.out, s.base, s.count, s.lanes, step);
            });
        });
    });
}

DBENCH_CLONES void sgd(const Sgd<float>& s) { sgd_body(s); }
DBENCH_CLONES void sgd(const Sgd<double>& s) { sgd_body(s); }

}  // namespace

void sgd_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows velocity,
                Columns columns, const SgdNumbers& numbers, double* squared_update) {
    DBENCH_EXPECT(out.count == base.count && out.count == at.count && out.count == gradient.count);
    DBENCH_EXPECT(numbers.momentum == 0 || velocity.count == out.count);
    DBENCH_EXPECT(numbers.decay.size() == layout.tensors().size());
    const int64_t velocities = numbers.momentum == 0 ? 0 : 1;
    count_update(base, at, numbers.decay, columns, velocities, velocities);
    with_type(out.type, [&]<class T>() {
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int tensor, Lanes* lanes) {
            sgd(Sgd<T>{
                .out = out.row<T>(i) + begin,
                .base = base.row<T>(i) + begin,
                .at = at.row<T>(i) + begin,
                .gradient = gradient.row<T>(i) + begin,
                .velocity = numbers.momentum == 0 ? nullptr : velocity.row<T>(i) + begin,
                .count = count,
                .lr = static_cast<T>(numbers.lr),
                .momentum = static_cast<T>(numbers.momentum),
                .decay = static_cast<T>(numbers.decay[tensor]),
                .nesterov = numbers.nesterov,
                .lanes = lanes,
            });
        };
        for_each_tile(layout, out.count, columns, squared_update, tile);
    });
}

}  // namespace dbench::arena
