#pragma once
// The passes behind norm_relu over pixels with channels last: x[m * channels + c], m < pixels. Each
// reads its arrays once; sums run in a fixed order, whatever the processor.

#include <cstdint>

namespace dbench::train {

template <class T>
struct Pixels {
    int64_t pixels, channels;
    const T* x;
};

/// Mean and biased variance per channel.
template <class T>
void moments(Pixels<T> in, double* mean, double* variance);

/// y = max(0, scale x + shift + added) per channel; `added` [pixels * channels] or null.
template <class T>
void scale_relu(Pixels<T> in, const T* scale, const T* shift, const T* added, T* y);

/// Per channel, with g = gradient where y > 0 and else 0: sum of g, and sum of g (x - mean).
/// Writes g to `masked` where that is not null.
template <class T>
void gradient_sums(Pixels<T> in, const T* y, const T* gradient, const T* mean, T* masked,
                   double* sum, double* product);

/// out = slope g + curve (x - mean) + level per channel, g as above.
template <class T>
void input_gradient(Pixels<T> in, const T* y, const T* gradient, const T* mean, const T* slope,
                    const T* curve, const T* level, T* out);

}  // namespace dbench::train
