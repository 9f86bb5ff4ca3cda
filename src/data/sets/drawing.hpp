#pragma once
// Drawing the images of the data set `shapes`.

#include <cstdint>

#include "base/random.hpp"

namespace dbench::data {

inline constexpr int64_t kShapeClasses = 10;
inline constexpr int64_t kShapeSide = 32;
inline constexpr int64_t kShapePixels = 3 * kShapeSide * kShapeSide;

/// Returns the signed distance of (x, y) to the outline of figure `label`, which has radius 1 and
/// is centred at the origin (negative inside; exact near the outline, a bound elsewhere).
float figure_distance(int64_t label, float x, float y);

/// Draws a random label and its figure, writes the image (3, 32, 32) to `pixels`, and returns the
/// label. `difficulty` in [0, 1] controls how much position, size, rotation, stretch and colours
/// vary, how weak the contrast is, and how much noise and how many distracting marks there are.
uint8_t draw_shape(base::Random random, double difficulty, uint8_t* pixels);

}  // namespace dbench::data
