#pragma once
// One image of the data set `shapes`.

#include <array>
#include <cstdint>

#include "base/random.hpp"

namespace dbench::data {

inline constexpr int64_t kShapeClasses = 10;
inline constexpr int64_t kShapeSide = 32;
inline constexpr int64_t kShapePixels = 3 * kShapeSide * kShapeSide;

/// Signed distance of (x, y) to the outline of figure `label` of radius 1 around the origin
/// (negative inside; exact near the outline, a bound elsewhere).
float figure_distance(int64_t label, float x, float y);

/// The names of the figures, by label.
const std::array<const char*, kShapeClasses>& figure_names();

/// Draws a label and its figure from `random` and writes the image (3, 32, 32) to `pixels`.
/// `difficulty` in [0, 1] sets how much position, size, rotation, stretch and colours vary, how
/// weak the contrast is, and how much noise and how many distracting marks there are.
uint8_t draw_shape(base::Random random, double difficulty, uint8_t* pixels);

}  // namespace dbench::data
