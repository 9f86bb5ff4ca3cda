#pragma once  // Private to train/models/layers.
// The host's passes of norm_relu over pixels with channels last: x[m * channels + c], m < pixels.
// Each pass reads its arrays once; sums are added in a fixed order on every processor.

#include <cstdint>

namespace dbench::train {

template <class T>
struct Pixels {
    int64_t pixels, channels;
    const T* x;
};

/// Computes the mean and biased variance per channel.
template <class T>
void moments(Pixels<T> in, double* mean, double* variance);

/// Computes y = max(0, scale x + shift + added) per channel; `added` [pixels * channels] or null.
template <class T>
void scale_relu(Pixels<T> in, const T* scale, const T* shift, const T* added, T* y);

/// Computes the sums of g and of g (x - mean) per channel, with g = gradient if y > 0 and else 0.
/// Writes g to `masked` if that is not null.
template <class T>
void gradient_sums(Pixels<T> in, const T* y, const T* gradient, const T* mean, T* masked,
                   double* sum, double* product);

/// Computes out = slope g + curve (x - mean) + level per channel, with g as above.
template <class T>
void input_gradient(Pixels<T> in, const T* y, const T* gradient, const T* mean, const T* slope,
                    const T* curve, const T* level, T* out);

}  // namespace dbench::train
