#pragma once
// Batch normalisation, an optional sum and ReLU of images on a device: two launches forward and two
// backward, which read what they have to and no more. On the host train/models/layers/norm_relu.hpp
// has passes of its own.

#include <cstdint>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Images with channels last: numbers [pixels, channels] that begin at a multiple of 16 bytes.
struct Images {
    DType type;
    int64_t pixels, channels;
};
/// Whether these kernels take them: channels fill places of 16 bytes, and numbers are fewer than
/// 2^31.
bool takes(const Images& images);

/// One replica's, or those of several, to which replicas are groups of channels: [channels] each.
struct Norm {
    const void* weight;
    const void* bias;
};

/// Memory for sums that both directions need, in float64 numbers; a launch later it is free.
int64_t norm_sums(const Images& images);

/// y = max(0, weight (x - mean) inverse + bias + added) with mean and biased variance over pixels
/// and inverse = 1 / sqrt(variance + eps), which come to statistics[2, channels]; NaN stays. The
/// running ones move by `momentum` to them, the variance made unbiased if there are two pixels.
/// `added` may be null.
void norm_relu(const Images& images, const void* x, const void* added, const Norm& norm,
               double momentum, double eps, void* running_mean, void* running_variance, void* y,
               double* statistics, double* sums, Queue* queue = nullptr);

/// What is known of a pass forward. Null `y`: nothing was added.
struct NormRelu {
    const void* x;
    const void* y;
    Norm norm;
    const double* statistics;
};
/// With g = gradient where the ReLU let through, else 0: the gradients of x, weight and bias, and g
/// itself where something was added (null else).
void norm_relu_gradients(const Images& images, const NormRelu& forward, const void* gradient,
                         void* g, void* dx, void* dweight, void* dbias, double* sums,
                         Queue* queue = nullptr);

}  // namespace dbench::arena
