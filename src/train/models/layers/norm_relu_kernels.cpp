#include "train/models/layers/norm_relu_kernels.hpp"

#include <algorithm>
#include <vector>

#include "arena/loops.hpp"

namespace dbench::train {
namespace {

// Pixels summed in run precision before they are added to float64 sums.
constexpr int64_t kChunk = 64;
// Pixels whose terms are added to each other before the running sum, so that they share its
// latency.
constexpr int64_t kTogether = 4;

/// Adds f(m, c) = {first, second} over all pixels to float64 sums per channel.
template <class T, class Terms>
DBENCH_INLINE void sum_pairs(int64_t pixels, int64_t channels, T* scratch, double* first,
                             double* second, Terms terms) {
    std::fill_n(first, channels, 0.0);
    std::fill_n(second, channels, 0.0);
    T* a = scratch;
    T* b = scratch + channels;
    for (int64_t begin = 0; begin < pixels; begin += kChunk) {
        const int64_t end = std::min(begin + kChunk, pixels);
        std::fill_n(scratch, 2 * channels, T(0));
        int64_t m = begin;
        for (; m + kTogether <= end; m += kTogether) {
            DBENCH_INDEPENDENT
            for (int64_t c = 0; c < channels; ++c) {
                const auto p = terms(m, c), q = terms(m + 1, c), r = terms(m + 2, c),
                           s = terms(m + 3, c);
                a[c] += (p.first + q.first) + (r.first + s.first);
                b[c] += (p.second + q.second) + (r.second + s.second);
            }
        }
        for (; m < end; ++m) {
            for (int64_t c = 0; c < channels; ++c) {
                const auto p = terms(m, c);
                a[c] += p.first;
                b[c] += p.second;
            }
        }
        for (int64_t c = 0; c < channels; ++c) {
            first[c] += static_cast<double>(a[c]);
            second[c] += static_cast<double>(b[c]);
        }
    }
}

template <class T>
struct Pair {
    T first, second;
};

// Deviations are taken from the first pixel, which is one of the values: their squares lose no more
// digits than those from the mean, and one pass is enough.
template <class T>
DBENCH_INLINE void moments_body(Pixels<T> in, T* scratch, double* mean, double* variance) {
    const T* x = in.x;
    const int64_t channels = in.channels;
    T* origin = scratch + 2 * channels;
    std::copy_n(x, channels, origin);
    sum_pairs(in.pixels, channels, scratch, mean, variance,
              [=](int64_t m, int64_t c) DBENCH_INLINE_LAMBDA {
                  const T d = x[m * channels + c] - origin[c];
                  return Pair<T>{d, d * d};
              });
    for (int64_t c = 0; c < channels; ++c) {
        const double shift = mean[c] / static_cast<double>(in.pixels);
        mean[c] = static_cast<double>(origin[c]) + shift;
        variance[c] = std::max(variance[c] / static_cast<double>(in.pixels) - shift * shift, 0.0);
    }
}

template <class T>
DBENCH_INLINE T relu(T value) {
    return value <= 0 ? T(0) : value;  // A NaN is kept.
}

template <class T>
DBENCH_INLINE void scale_relu_body(Pixels<T> in, const T* scale, const T* shift, const T* added,
                                   T* y) {
    const int64_t channels = in.channels;
    for (int64_t m = 0; m < in.pixels; ++m) {
        const T* x = in.x + m * channels;
        T* out = y + m * channels;
        if (added != nullptr) {
            const T* more = added + m * channels;
            DBENCH_INDEPENDENT
            for (int64_t c = 0; c < channels; ++c) {
                out[c] = relu(x[c] * scale[c] + shift[c] + more[c]);
            }
        } else {
            DBENCH_INDEPENDENT
            for (int64_t c = 0; c < channels; ++c) out[c] = relu(x[c] * scale[c] + shift[c]);
        }
    }
}

template <class T>
DBENCH_INLINE void gradient_sums_body(Pixels<T> in, const T* y, const T* gradient, const T* mean,
                                      T* masked, T* scratch, double* sum, double* product) {
    const T* x = in.x;
    const int64_t channels = in.channels;
    const auto pair = [=](int64_t at, int64_t c) DBENCH_INLINE_LAMBDA {
        const T g = y[at] <= 0 ? T(0) : gradient[at];
        return Pair<T>{g, g * (x[at] - mean[c])};
    };
    if (masked == nullptr) {
        sum_pairs(in.pixels, channels, scratch, sum, product,
                  [=](int64_t m, int64_t c)
                      DBENCH_INLINE_LAMBDA { return pair(m * channels + c, c); });
    } else {
        sum_pairs(in.pixels, channels, scratch, sum, product,
                  [=](int64_t m, int64_t c) DBENCH_INLINE_LAMBDA {
                      const auto p = pair(m * channels + c, c);
                      masked[m * channels + c] = p.first;
                      return p;
                  });
    }
}

template <class T>
DBENCH_INLINE void input_gradient_body(Pixels<T> in, const T* y, const T* gradient, const T* mean,
                                       const T* slope, const T* curve, const T* level, T* out) {
    const int64_t channels = in.channels;
    for (int64_t m = 0; m < in.pixels; ++m) {
        const T* x = in.x + m * channels;
        const T* y_m = y + m * channels;
        const T* gradient_m = gradient + m * channels;
        T* out_m = out + m * channels;
        DBENCH_INDEPENDENT
        for (int64_t c = 0; c < channels; ++c) {
            const T g = y_m[c] <= 0 ? T(0) : gradient_m[c];
            out_m[c] = slope[c] * g + curve[c] * (x[c] - mean[c]) + level[c];
        }
    }
}

#define DBENCH_KERNELS(T)                                                                      \
    DBENCH_CLONES void run_moments(Pixels<T> in, T* scratch, double* mean, double* variance) { \
        moments_body(in, scratch, mean, variance);                                             \
    }                                                                                          \
    DBENCH_CLONES void run_scale_relu(Pixels<T> in, const T* scale, const T* shift,            \
                                      const T* added, T* y) {                                  \
        scale_relu_body(in, scale, shift, added, y);                                           \
    }                                                                                          \
    DBENCH_CLONES void run_gradient_sums(Pixels<T> in, const T* y, const T* gradient,          \
                                         const T* mean, T* masked, T* scratch, double* sum,    \
                                         double* product) {                                    \
        gradient_sums_body(in, y, gradient, mean, masked, scratch, sum, product);              \
    }                                                                                          \
    DBENCH_CLONES void run_input_gradient(Pixels<T> in, const T* y, const T* gradient,         \
                                          const T* mean, const T* slope, const T* curve,       \
                                          const T* level, T* out) {                            \
        input_gradient_body(in, y, gradient, mean, slope, curve, level, out);                  \
    }
DBENCH_KERNELS(float)
DBENCH_KERNELS(double)
#undef DBENCH_KERNELS

}  // namespace

template <class T>
void moments(Pixels<T> in, double* mean, double* variance) {
    std::vector<T> scratch(static_cast<size_t>(3 * in.channels));
    run_moments(in, scratch.data(), mean, variance);
}

template <class T>
void scale_relu(Pixels<T> in, const T* scale, const T* shift, const T* added, T* y) {
    run_scale_relu(in, scale, shift, added, y);
}

template <class T>
void gradient_sums(Pixels<T> in, const T* y, const T* gradient, const T* mean, T* masked,
                   double* sum, double* product) {
    std::vector<T> scratch(static_cast<size_t>(2 * in.channels));
    run_gradient_sums(in, y, gradient, mean, masked, scratch.data(), sum, product);
}

template <class T>
void input_gradient(Pixels<T> in, const T* y, const T* gradient, const T* mean, const T* slope,
                    const T* curve, const T* level, T* out) {
    run_input_gradient(in, y, gradient, mean, slope, curve, level, out);
}

#define DBENCH_INSTANCES(T)                                                                     \
    template void moments(Pixels<T>, double*, double*);                                         \
    template void scale_relu(Pixels<T>, const T*, const T*, const T*, T*);                      \
    template void gradient_sums(Pixels<T>, const T*, const T*, const T*, T*, double*, double*); \
    template void input_gradient(Pixels<T>, const T*, const T*, const T*, const T*, const T*,   \
                                 const T*, T*);
DBENCH_INSTANCES(float)
DBENCH_INSTANCES(double)
#undef DBENCH_INSTANCES

}  // namespace dbench::train
