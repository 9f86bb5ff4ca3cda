#include "arena/adaptive.hpp"

#include <algorithm>
#include <cmath>

#include "arena/update.hpp"

namespace dbench::arena {
namespace {

/// 1 - beta^step: what is missing of a mean that began at 0.
double correction(double beta, int64_t step) {
    return 1 - std::pow(beta, static_cast<double>(step));
}

template <class T>
struct Dadam {
    T* out;
    const T* base;
    const T* gradient;
    T* first;
    T* second;
    T* long_term;
    int64_t count;
    T step_size, share, eps, beta1, rest1, beta2, rest2, beta3, rest3;
    Lanes* lanes;
};

template <class T>
DBENCH_INLINE void dadam_body(const Dadam<T>& s) {
    const auto step = [=](int64_t c) DBENCH_INLINE_LAMBDA {
        const T g = s.gradient[c];
        const T m = s.beta1 * s.first[c] + s.rest1 * g;
        const T v = s.beta2 * s.second[c] + s.rest2 * g * g;
        const T now = s.share * v, before = s.long_term[c];
        const T size = s.beta3 * before + s.rest3 * (before > now ? before : now);
        s.first[c] = m;
        s.second[c] = v;
        s.long_term[c] = size;
        return s.step_size * m / (std::sqrt(size) + s.eps);
    };
    subtract(s.out, s.base, s.count, s.lanes, step);
}
DBENCH_CLONES void dadam(const Dadam<float>& s) { dadam_body(s); }
DBENCH_CLONES void dadam(const Dadam<double>& s) { dadam_body(s); }

template <class T>
struct Largest {
    T* gradient;
    T* first;
    T* second;
    T* largest;
    int64_t count;
    T beta1, rest1, beta2, rest2, eps;
};

template <class T>
DBENCH_INLINE void largest_body(const Largest<T>& s) {
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < s.count; ++c) {
        const T g = s.gradient[c];
        const T v = s.beta2 * s.second[c] + s.rest2 * g * g;
        const T before = s.largest[c], now = v - s.eps;
        const T most = before > now ? before : now;
        s.first[c] = s.beta1 * s.first[c] + s.rest1 * g;
        s.second[c] = v;
        s.largest[c] = most;
        s.gradient[c] = most - before;
    }
}
DBENCH_CLONES void largest(const Largest<float>& s) { largest_body(s); }
DBENCH_CLONES void largest(const Largest<double>& s) { largest_body(s); }

template <class T>
struct Descent {
    T* out;
    const T* base;
    const T* direction;
    const T* size;
    int64_t count;
    T lr, eps;
    Lanes* lanes;
};

template <class T>
DBENCH_INLINE void descend_body(const Descent<T>& s) {
    const auto step = [=](int64_t c) DBENCH_INLINE_LAMBDA {
        const T size = s.size[c] > 0 ? s.size[c] : T{0};
        return s.lr * s.direction[c] / std::sqrt(size + s.eps);
    };
    subtract(s.out, s.base, s.count, s.lanes, step);
}
DBENCH_CLONES void descend(const Descent<float>& s) { descend_body(s); }
DBENCH_CLONES void descend(const Descent<double>& s) { descend_body(s); }

template <class T>
struct Approach {
    T* x;
    const T* from;
    const T* to;
    T* squared;
    int64_t count;
    T gamma, beta, rest, share;
};

template <class T>
DBENCH_INLINE void approach_body(const Approach<T>& s) {
    DBENCH_INDEPENDENT
    for (int64_t c = 0; c < s.count; ++c) {
        const T r = s.to[c] - s.from[c];
        const T v = s.beta * s.squared[c] + s.rest * r * r;
        const T step = s.gamma / (std::sqrt(s.share * v) + T(1e-8));
        s.squared[c] = v;
        s.x[c] += (step < 1 ? step : T{1}) * r;
    }
}
DBENCH_CLONES void approach(const Approach<float>& s) { approach_body(s); }
DBENCH_CLONES void approach(const Approach<double>& s) { approach_body(s); }

}  // namespace

void dadam_update(const Layout& layout, Rows out, Rows base, Rows gradient, Rows first, Rows second,
                  Rows long_term, Columns columns, const DadamNumbers& n, double* squared_update) {
    count_update(base, base, {}, columns, 3, 3);
    with_type(out.type, [&]<class T>() {
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int, Lanes* lanes) {
            dadam(Dadam<T>{
                .out = out.row<T>(i) + begin,
                .base = base.row<T>(i) + begin,
                .gradient = gradient.row<T>(i) + begin,
                .first = first.row<T>(i) + begin,
                .second = second.row<T>(i) + begin,
                .long_term = long_term.row<T>(i) + begin,
                .count = count,
                .step_size = static_cast<T>(n.lr / correction(n.beta1, n.step)),
                .share = static_cast<T>(1 / correction(n.beta2, n.step)),
                .eps = static_cast<T>(n.eps),
                .beta1 = static_cast<T>(n.beta1),
                .rest1 = static_cast<T>(1 - n.beta1),
                .beta2 = static_cast<T>(n.beta2),
                .rest2 = static_cast<T>(1 - n.beta2),
                .beta3 = static_cast<T>(n.beta3),
                .rest3 = static_cast<T>(1 - n.beta3),
                .lanes = lanes,
            });
        };
        for_each_tile(layout, out.count, columns, squared_update, tile);
    });
}

void largest_moments(const Layout& layout, Rows gradient, Rows first, Rows second, Rows largest_,
                     Columns columns, double beta1, double beta2, double eps) {
    count_passes(first.type, columns, 4 * first.count, 4 * first.count, Kernel::update);
    with_type(first.type, [&]<class T>() {
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int, Lanes*) {
            largest(Largest<T>{
                .gradient = gradient.row<T>(i) + begin,
                .first = first.row<T>(i) + begin,
                .second = second.row<T>(i) + begin,
                .largest = largest_.row<T>(i) + begin,
                .count = count,
                .beta1 = static_cast<T>(beta1),
                .rest1 = static_cast<T>(1 - beta1),
                .beta2 = static_cast<T>(beta2),
                .rest2 = static_cast<T>(1 - beta2),
                .eps = static_cast<T>(eps),
            });
        };
        for_each_tile(layout, first.count, columns, nullptr, tile);
    });
}

void descend_by_size(const Layout& layout, Rows out, Rows base, Rows direction, Rows size,
                     Columns columns, double lr, double eps, double* squared_update) {
    count_update(base, base, {}, columns, 1, 0);
    with_type(out.type, [&]<class T>() {
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int, Lanes* lanes) {
            descend(Descent<T>{
                .out = out.row<T>(i) + begin,
                .base = base.row<T>(i) + begin,
                .direction = direction.row<T>(i) + begin,
                .size = size.row<T>(i) + begin,
                .count = count,
                .lr = static_cast<T>(lr),
                .eps = static_cast<T>(eps),
                .lanes = lanes,
            });
        };
        for_each_tile(layout, out.count, columns, squared_update, tile);
    });
}

void approach_adaptively(const Layout& layout, Rows x, Rows from, Rows to, Rows squared,
                         Columns columns, const ApproachNumbers& n) {
    count_passes(x.type, columns, 4 * x.count, 2 * x.count, Kernel::update);
    with_type(x.type, [&]<class T>() {
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int, Lanes*) {
            approach(Approach<T>{
                .x = x.row<T>(i) + begin,
                .from = from.row<T>(i) + begin,
                .to = to.row<T>(i) + begin,
                .squared = squared.row<T>(i) + begin,
                .count = count,
                .gamma = static_cast<T>(n.gamma),
                .beta = static_cast<T>(n.beta),
                .rest = static_cast<T>(1 - n.beta),
                .share = static_cast<T>(1 / correction(n.beta, n.step)),
            });
        };
        for_each_tile(layout, x.count, columns, nullptr, tile);
    });
}

}  // namespace dbench::arena
