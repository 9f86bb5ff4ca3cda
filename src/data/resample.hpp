#pragma once
// Resizing photographs: bilinear, with antialiasing when they become smaller.

#include <cstdint>

#include "arena/rows.hpp"
#include "data/dataset.hpp"
#include "data/images.hpp"
#include "data/jpeg.hpp"

namespace dbench::data {

/// Output samples along one axis: sample k of `count` is at origin + (k + 1/2) step, in pixels
/// whose centres are at 1/2, 3/2, ... Only the pixels first .. last - 1 may be used.
struct Axis {
    double origin, step;
    int64_t count;
    int64_t first, last;
};

/// Resizes `in` and normalises it. Each output sample is the mean of pixels weighted by a triangle
/// of half-width max(1, step) around it, which is what the filter BILINEAR of Pillow does, but
/// without rounding to bytes; then (value / 255 - mean) / deviation. `out` receives (3, y.count,
/// x.count) elements of `type`, in memory order `order`, from right to left if `mirrored`. The axes
/// are in pixels of the whole photograph, of which `in` is a part.
void resample(const Pixels& in, const Axis& x, const Axis& y, bool mirrored,
              const Normalization& normalization, arena::DType type, Order order, void* out);

}  // namespace dbench::data
