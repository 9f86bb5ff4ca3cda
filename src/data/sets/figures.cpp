// The figures of the data set `shapes` as signed distances (declared in drawing.hpp).

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/sets/drawing.hpp"

namespace dbench::data {
namespace {

constexpr float kPi = std::numbers::pi_v<float>;

float box(float x, float y, float half_width, float half_height) {
    return std::max(std::abs(x) - half_width, std::abs(y) - half_height);
}

float triangle(float x, float y) {
    const float slope = std::sqrt(3.0F) / 2;
    return std::max(y - 0.5F, slope * std::abs(x) - 0.5F * y - 0.5F);
}

// Five points of radius 1 and notches of radius 0.42; by symmetry, one half of one point suffices.
float star(float x, float y) {
    const float sector = 2 * kPi / 5;
    float angle = std::fmod(std::atan2(y, x) + 2 * kPi, sector);
    angle = std::min(angle, sector - angle);
    const float radius = std::hypot(x, y);
    const float px = radius * std::cos(angle), py = radius * std::sin(angle);
    const float nx = 0.42F * std::cos(sector / 2), ny = 0.42F * std::sin(sector / 2);
    const float length = std::hypot(nx - 1, ny);  // Length of the edge from (1, 0) to (nx, ny).
    return (ny * (px - 1) - (nx - 1) * py) / length;
}

}  // namespace

float figure_distance(int64_t label, float x, float y) {
    switch (label) {
        case 0:
            return std::hypot(x, y) - 0.85F;
        case 1:
            return std::abs(std::hypot(x, y) - 0.72F) - 0.2F;
        case 2:
            return box(x, y, 0.75F, 0.75F);
        case 3:
            return std::abs(box(x, y, 0.62F, 0.62F)) - 0.18F;
        case 4:
            return triangle(x, y);
        case 5:
            return star(x, y);
        case 6:
            return std::max(std::hypot(x, y) - 0.9F, 0.75F - std::hypot(x - 0.45F, y));
        case 7:
            return std::min(box(x, y, 0.95F, 0.28F), box(x, y, 0.28F, 0.95F));
        case 8:
            return box(x, y, 1.0F, 0.3F);
        default:
            return std::max((std::abs(x) - std::abs(y)) / std::sqrt(2.0F) - 0.05F,
                            std::abs(y) - 0.8F);
    }
}

}  // namespace dbench::data
