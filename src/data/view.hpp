#pragma once
// The part of a photograph that becomes a square of `size` pixels, as in the usual training on
// ImageNet.

#include <cstdint>

#include "data/jpeg.hpp"
#include "data/resample.hpp"

namespace dbench::data {

/// A view: the output samples along both axes, in pixels of the photograph.
struct View {
    Axis x, y;
    bool mirrored = false;
};

/// Returns a random view for training (Szegedy et al. 2015, arXiv 1409.4842, in the form of
/// torchvision), drawn from `key`: a rectangle of 0.08 to 1 of the area, with an aspect ratio from
/// 3/4 to 4/3, uniform in its logarithm. Uses the first of ten rectangles that fits, else the
/// largest central one with an allowed ratio. Mirrors it with probability 1/2.
View random_view(uint64_t key, int64_t width, int64_t height, int64_t size);

/// Returns the view for evaluation: the shorter side is resized to size 256 / 224, and the central
/// square is used.
View central_view(int64_t width, int64_t height, int64_t size);

/// Returns the number of eighths of its size at which a JPEG may be decoded for a view: the least
/// that leaves at least one pixel per output sample; 8 if the photograph has fewer pixels than
/// that.
int64_t eighths_for(const View& view);

/// Returns the same view of a photograph that was decoded at eighths/8 of its size.
View scaled(const View& view, int64_t eighths);

/// Returns the rectangle of all pixels that the view uses.
Part part_of(const View& view);

}  // namespace dbench::data
