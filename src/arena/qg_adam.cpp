// QG-Adam (Lin et al. 2021): the local update, and the moments of the averaged change.

#include "arena/qg_adam.hpp"

#include <cmath>

#include "arena/update.hpp"

namespace dbench::arena {
namespace {

template <class T>
struct Update {
    T* out;
    const T* base;
    const T* gradient;
    const T* first;
    const T* second;
    int64_t count;
    T step_size, root_correction, eps, beta1, beta2, rest2;
    Lanes* lanes;
};

template <class T>
DBENCH_INLINE void update_body(const Update<T>& s) {
    const auto step = [=](int64_t c) DBENCH_INLINE_LAMBDA {
        const T g = s.gradient[c];
        const T m = s.beta1 * s.first[c] + g;
        const T v = s.beta2 * s.second[c] + s.rest2 * g * g;
        return s.step_size * m / (std::sqrt(v) / s.root_correction + s.eps);
    };
    subtract(s.out, s.base, s.count, s.lanes, step);
}

DBENCH_CLONES void update(const Update<float>& s) { update_body(s); }
DBENCH_CLONES void update(const Update<double>& s) { update_body(s); }

template <class T>
struct Change {
    const T* before;
    const T* after;
    T* first;
    T* second;
    int64_t count;
    T factor, beta1, rest1, beta2, rest2;
};

template <class T>
DBENCH_INLINE void change_body(const Change<T>& s) {
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < s.count; ++c) {
        const T d = s.factor * (s.before[c] - s.after[c]);
        s.first[c] = s.beta1 * s.first[c] + s.rest1 * d;
        s.second[c] = s.beta2 * s.second[c] + s.rest2 * d * d;
    }
}

DBENCH_CLONES void change(const Change<float>& s) { change_body(s); }
DBENCH_CLONES void change(const Change<double>& s) { change_body(s); }

}  // namespace

void qg_adam_update(const Layout& layout, Rows out, Rows base, Rows gradient, Rows first,
                    Rows second, Columns columns, const QgAdamNumbers& n, double* squared_update) {
    const double t = static_cast<double>(n.step);
    count_update(base, base, {}, columns, 2, 0);
    with_type(out.type, [&]<class T>() {
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int, Lanes* lanes) {
            update(Update<T>{
                .out = out.row<T>(i) + begin,
                .base = base.row<T>(i) + begin,
                .gradient = gradient.row<T>(i) + begin,
                .first = first.row<T>(i) + begin,
                .second = second.row<T>(i) + begin,
                .count = count,
                .step_size = static_cast<T>(n.lr / (1 - std::pow(n.beta1, t))),
                .root_correction = static_cast<T>(std::sqrt(1 - std::pow(n.beta2, t))),
                .eps = static_cast<T>(n.eps),
                .beta1 = static_cast<T>(n.beta1),
                .beta2 = static_cast<T>(n.beta2),
                .rest2 = static_cast<T>(1 - n.beta2),
                .lanes = lanes,
            });
        };
        for_each_tile(layout, out.count, columns, squared_update, tile);
    });
}

void qg_adam_moments(const Layout& layout, Rows before, Rows after, std::span<const double> factor,
                     Rows first, Rows second, Columns columns, const QgAdamNumbers& n) {
    count_passes(first.type, columns, 4 * first.count, 2 * first.count, Kernel::update);
    with_type(first.type, [&]<class T>() {
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int, Lanes*) {
            change(Change<T>{
                .before = before.row<T>(i) + begin,
                .after = after.row<T>(i) + begin,
                .first = first.row<T>(i) + begin,
                .second = second.row<T>(i) + begin,
                .count = count,
                .factor = static_cast<T>(factor[i]),
                .beta1 = static_cast<T>(n.beta1),
                .rest1 = static_cast<T>(1 - n.beta1),
                .beta2 = static_cast<T>(n.beta2),
                .rest2 = static_cast<T>(1 - n.beta2),
            });
        };
        for_each_tile(layout, first.count, columns, nullptr, tile);
    });
}

}  // namespace dbench::arena
