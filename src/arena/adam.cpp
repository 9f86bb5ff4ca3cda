// Adam and AdamW as torch.optim computes them (Kingma and Ba 2015; Loshchilov and Hutter 2019).

#include <cmath>

#include "arena/kernels.hpp"
#include "arena/update.hpp"

namespace dbench::arena {
namespace {

template <class T>
struct Adam {
    T* out;
    const T* base;
    const T* at;
    const T* gradient;
    T* first;
    T* second;
    int64_t count;
    T step_size;        // lr / (1 - beta1^t)
    T root_correction;  // sqrt(1 - beta2^t)
    T eps;
    T toward;        // 1 - beta1
    T beta2, rest2;  // rest2 = 1 - beta2
    T coupled;       // decay into the gradient
    T decoupled;     // lr * decay, part of the step
    bool near;       // toward < 1/2
    Lanes* lanes;
};

template <class T>
DBENCH_INLINE void adam_body(const Adam<T>& s) {
    const T* at = s.at;
    const T* gradient = s.gradient;
    T* first = s.first;
    T* second = s.second;
    const T step_size = s.step_size, root_correction = s.root_correction, eps = s.eps;
    const T beta2 = s.beta2, rest2 = s.rest2, coupled = s.coupled, decoupled = s.decoupled;
    // Interpolation starts from the nearer end, so that beta1 = 0 gives the gradient itself.
    const bool near = s.near;
    const T share = near ? s.toward : s.toward - 1;
    with_flag(coupled != 0 || decoupled != 0, [&](auto decays) DBENCH_INLINE_LAMBDA {
        const auto step = [=](int64_t c) DBENCH_INLINE_LAMBDA {
            T g = gradient[c];
            if constexpr (decays.value) g += coupled * at[c];
            const T old = first[c];
            const T m = (near ? old : g) + share * (g - old);
            const T v = beta2 * second[c] + rest2 * g * g;
            first[c] = m;
            second[c] = v;
            T d = step_size * m / (std::sqrt(v) / root_correction + eps);
            if constexpr (decays.value) d += decoupled * at[c];
            return d;
        };
        subtract(s.out, s.base, s.count, s.lanes, step);
    });
}

DBENCH_CLONES void adam(const Adam<float>& s) { adam_body(s); }
DBENCH_CLONES void adam(const Adam<double>& s) { adam_body(s); }

}  // namespace

void adam_update(const Layout& layout, Rows out, Rows base, Rows at, Rows gradient, Rows first,
                 Rows second, Columns columns, const AdamNumbers& numbers, double* squared_update) {
    DBENCH_EXPECT(out.count == base.count && out.count == at.count && out.count == gradient.count);
    DBENCH_EXPECT(out.count == first.count && out.count == second.count && numbers.step >= 1);
    DBENCH_EXPECT(numbers.decay.size() == layout.tensors().size());
    const double t = static_cast<double>(numbers.step);
    const double step_size = numbers.lr / (1 - std::pow(numbers.beta1, t));
    const double root_correction = std::sqrt(1 - std::pow(numbers.beta2, t));
    with_type(out.type, [&]<class T>() {
        const auto tile = [&](int64_t i, int64_t begin, int64_t count, int tensor, Lanes* lanes) {
            const double decay = numbers.decay[tensor];
            adam(Adam<T>{
                .out = out.row<T>(i) + begin,
                .base = base.row<T>(i) + begin,
                .at = at.row<T>(i) + begin,
                .gradient = gradient.row<T>(i) + begin,
                .first = first.row<T>(i) + begin,
                .second = second.row<T>(i) + begin,
                .count = count,
                .step_size = static_cast<T>(step_size),
                .root_correction = static_cast<T>(root_correction),
                .eps = static_cast<T>(numbers.eps),
                .toward = static_cast<T>(1 - numbers.beta1),
                .beta2 = static_cast<T>(numbers.beta2),
                .rest2 = static_cast<T>(1 - numbers.beta2),
                .coupled = numbers.decoupled ? T{0} : static_cast<T>(decay),
                .decoupled = numbers.decoupled ? static_cast<T>(numbers.lr * decay) : T{0},
                .near = 1 - numbers.beta1 < 0.5,
                .lanes = lanes,
            });
        };
        for_each_tile(layout, out.count, columns, squared_update, tile);
    });
}

}  // namespace dbench::arena
