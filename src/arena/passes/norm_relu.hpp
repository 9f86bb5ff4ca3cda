#pragma once
// Batch normalisation, an optional sum and ReLU of images on a device: two launches forward and two
// backward, with the minimum of memory reads. The host has its own implementation in
// train/models/layers/norm_relu.hpp.

#include <cstdint>

#include "arena/device/queue.hpp"
#include "arena/rows.hpp"

namespace dbench::arena {

/// Images with channels last: numbers [pixels, channels] that begin at a multiple of 16 bytes.
struct Images {
    DType type;
    int64_t pixels, channels;
};
/// Returns true if these kernels support the images: the channels of a pixel must fill units of 16
/// bytes, and there must be fewer than 2^31 numbers.
bool supports_images(const Images& images);

/// The parameters of a batch normalisation, [channels] each. With several replicas, each replica's
/// channels are a group of `channels`.
struct Norm {
    const void* weight;
    const void* bias;
};

/// Returns the number of float64 values of scratch memory (`sums`) that both directions need. It
/// can be reused by launches that are ordered after them.
int64_t norm_sums(const Images& images);

/// Computes y = max(0, weight (x - mean) inverse + bias + added), with mean and biased variance
/// over pixels and inverse = 1 / sqrt(variance + eps). Stores mean and inverse in statistics[2,
/// channels]. NaN elements remain NaN. Moves the running mean and variance by `momentum` towards
/// mean and variance; for this, the variance is made unbiased if there are at least two pixels.
/// `added` may be null.
void norm_relu(const Images& images, const void* x, const void* added, const Norm& norm,
               double momentum, double eps, void* running_mean, void* running_variance, void* y,
               double* statistics, double* sums, Queue& queue = host_queue());

/// The inputs and results of a forward pass that the backward pass needs. `y` is null if nothing
/// was added.
struct NormRelu {
    const void* x;
    const void* y;
    Norm norm;
    const double* statistics;
};
/// Computes the gradients of x, weight and bias, with g = gradient where the output of the ReLU is
/// positive, else 0. Stores g if something was added; `g` must be null otherwise.
void norm_relu_gradients(const Images& images, const NormRelu& forward, const void* gradient,
                         void* g, void* dx, void* dweight, void* dbias, double* sums,
                         Queue& queue = host_queue());

}  // namespace dbench::arena
