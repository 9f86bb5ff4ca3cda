#pragma once
// Which part of a photograph of any size becomes a square of `size` pixels, as in the usual
// training on ImageNet.

#include <cstdint>

#include "data/jpeg.hpp"
#include "data/resample.hpp"

namespace dbench::data {

struct View {
    Axis x, y;
    bool mirrored = false;
};

/// In training (Szegedy et al. 2015, arXiv 1409.4842, in torchvision's form): a rectangle of 0.08
/// to 1 of the area, whose ratio of sides is from 3/4 to 4/3, uniform in its logarithm; the first
/// of ten that fits, else the largest in the middle whose ratio is allowed. Mirrored half of the
/// times. Drawn from `key`.
View random_view(uint64_t key, int64_t width, int64_t height, int64_t size);

/// In evaluation: the shorter side brought to size 256 / 224, and the square in the middle.
View central_view(int64_t width, int64_t height, int64_t size);

/// At how many eighths of its size a JPEG may be decoded for a view: the least that leaves no fewer
/// pixels than samples, 8 where there are fewer anyway.
int64_t eighths_for(const View& view);

/// The same view of a photograph at eighths/8 of its size.
View scaled(const View& view, int64_t eighths);

/// All pixels that the view takes.
Part part_of(const View& view);

}  // namespace dbench::data
