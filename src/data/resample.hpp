#pragma once
// Photographs brought to another size: bilinear, with antialiasing where they become smaller.

#include <cstdint>

#include "arena/rows.hpp"
#include "data/dataset.hpp"
#include "data/images.hpp"
#include "data/jpeg.hpp"

namespace dbench::data {

/// Sample k of `count` along an axis stands at origin + (k + 1/2) step, in pixels whose centres are
/// at 1/2, 3/2, ...; of these, first .. last - 1 may be taken.
struct Axis {
    double origin, step;
    int64_t count;
    int64_t first, last;
};

/// Each sample is a weighted mean of pixels by the triangle of half-width max(1, step) around it:
/// what Pillow's BILINEAR does, here without rounding to bytes. Then (value / 255 - mean) /
/// deviation. `out`: (3, y.count, x.count) elements of `type`, in memory order `order`, from right
/// to left where `mirrored`. The axes are in pixels of the photograph of which `in` is a part.
void resample(const Pixels& in, const Axis& x, const Axis& y, bool mirrored,
              const Normalization& normalization, arena::DType type, Order order, void* out);

}  // namespace dbench::data
