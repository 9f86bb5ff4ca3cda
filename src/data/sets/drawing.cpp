#include "data/sets/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dbench::data {
namespace {

constexpr float kDrawingSide = kShapeSide;
using Colour = std::array<float, 3>;

// Random numbers for drawings: float arithmetic on few values, in a fixed order, so that images are
// reproducible.
struct ShapeRandom {
    base::Random random;
    float difficulty;

    float unit() { return static_cast<float>(random.bits() >> 8) * 0x1p-24F; }
    float between(float low, float high) { return low + (high - low) * unit(); }
    /// Returns any colour if the difficulty is 1, and the grey `usual` if it is 0.
    Colour colour(float usual) {
        Colour result;
        for (float& each : result) each = usual + difficulty * (unit() - usual);
        return result;
    }
};

struct Canvas {
    std::array<float, kShapePixels> values;  // (3, 32, 32), from black 0 to white 1.

    void mix(int64_t x, int64_t y, const Colour& colour, float share) {
        for (int64_t c = 0; c < 3; ++c) {
            float& value = values[(c * kShapeSide + y) * kShapeSide + x];
            value += share * (colour[c] - value);
        }
    }

    /// Paints the points where `distance(x, y)`, in pixels, is negative, with a soft edge of one
    /// pixel.
    template <class Distance>
    void paint(float centre_x, float centre_y, float reach, const Colour& colour,
               Distance&& distance) {
        const auto clamp = [](float value) {
            return static_cast<int64_t>(std::clamp(value, 0.0F, kDrawingSide));
        };
        const int64_t left = clamp(centre_x - reach), right = clamp(centre_x + reach + 1);
        const int64_t top = clamp(centre_y - reach), bottom = clamp(centre_y + reach + 1);
        for (int64_t y = top; y < bottom; ++y) {
            for (int64_t x = left; x < right; ++x) {
                const float dx = static_cast<float>(x) + 0.5F - centre_x;
                const float dy = static_cast<float>(y) + 0.5F - centre_y;
                const float share = std::clamp(0.5F - distance(dx, dy), 0.0F, 1.0F);
                if (share > 0) mix(x, y, colour, share);
            }
        }
    }
};

float contrast(const Colour& a, const Colour& b) {
    return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

// Paints a gradient from one colour to a similar one, in a random direction.
void paint_background(ShapeRandom& draws, const Colour& colour, Canvas& canvas) {
    const float angle = 2 * std::numbers::pi_v<float> * draws.unit();
    const float across = std::cos(angle) / kDrawingSide, down = std::sin(angle) / kDrawingSide;
    Colour change;
    for (float& each : change) each = draws.difficulty * (draws.unit() - 0.5F);
    for (int64_t y = 0; y < kShapeSide; ++y) {
        for (int64_t x = 0; x < kShapeSide; ++x) {
            const float along = across * (static_cast<float>(x) - kDrawingSide / 2) +
                                down * (static_cast<float>(y) - kDrawingSide / 2);
            for (int64_t c = 0; c < 3; ++c) {
                canvas.values[(c * kShapeSide + y) * kShapeSide + x] =
                    colour[c] + along * change[c];
            }
        }
    }
}

// Paints a dot or a thin stroke, which is independent of the class.
void paint_mark(ShapeRandom& draws, Canvas& canvas) {
    const float x = draws.between(0, kDrawingSide), y = draws.between(0, kDrawingSide);
    const Colour colour = draws.colour(0.5F);
    const float angle = std::numbers::pi_v<float> * draws.unit();
    const float half_length = draws.unit() < 0.5F ? 0 : draws.between(2, 6);
    const float thickness = half_length > 0 ? 0.7F : draws.between(0.8F, 1.8F);
    const float cosine = std::cos(angle), sine = std::sin(angle);
    canvas.paint(x, y, half_length + thickness + 1, colour, [&](float dx, float dy) {
        const float along = std::clamp(dx * cosine + dy * sine, -half_length, half_length);
        return std::hypot(dx - along * cosine, dy - along * sine) - thickness;
    });
}

void paint_figure(ShapeRandom& draws, int64_t label, const Colour& colour, Canvas& canvas) {
    const float d = draws.difficulty;
    const float radius = 10.5F + d * draws.between(-5.5F, 2.5F);
    const float max_shift = d * (kDrawingSide / 2 - 0.9F * radius);
    const float x = kDrawingSide / 2 + draws.between(-max_shift, max_shift);
    const float y = kDrawingSide / 2 + draws.between(-max_shift, max_shift);
    const float angle = d * std::numbers::pi_v<float> * draws.between(-1, 1);
    const float stretch = 1 + 0.3F * d * draws.between(-1, 1);
    const float cosine = std::cos(angle), sine = std::sin(angle);
    canvas.paint(x, y, 1.5F * radius, colour, [&](float dx, float dy) {
        const float u = (dx * cosine + dy * sine) / (radius * stretch);
        const float v = (dy * cosine - dx * sine) / radius * stretch;
        return radius * figure_distance(label, u, v);
    });
}

// Converts to bytes and adds noise. The noise is a sum of two random bytes: nearly Gaussian, and
// eight values from one Philox block.
void quantise(ShapeRandom& draws, const Canvas& canvas, uint8_t* pixels) {
    // The standard deviation is 0.41 times this.
    const float strength = 0.45F * draws.difficulty / 255;
    for (int64_t p = 0; p < kShapePixels; p += 2) {
        const uint32_t bits = draws.random.bits();
        for (int64_t k = 0; k < 2; ++k) {
            const auto sum =
                static_cast<int>((bits >> (16 * k) & 0xff) + (bits >> (16 * k + 8) & 0xff));
            const float value = canvas.values[p + k] + strength * static_cast<float>(sum - 255);
            pixels[p + k] = static_cast<uint8_t>(255 * std::clamp(value, 0.0F, 1.0F) + 0.5F);
        }
    }
}

}  // namespace

uint8_t draw_shape(base::Random random, double difficulty, uint8_t* pixels) {
    ShapeRandom draws{random, static_cast<float>(difficulty)};
    const auto label = static_cast<uint8_t>(draws.random.below(kShapeClasses));
    const Colour ground = draws.colour(0.2F);
    Colour colour = draws.colour(0.8F);
    const float wanted = 0.8F - 0.4F * draws.difficulty;
    for (int tries = 0; tries < 20 && contrast(ground, colour) < wanted; ++tries) {
        colour = draws.colour(0.8F);
    }
    Canvas canvas;
    paint_background(draws, ground, canvas);
    const int marks = static_cast<int>(6 * draws.difficulty * draws.unit() + 0.5F);
    for (int k = 0; k < marks; ++k) paint_mark(draws, canvas);
    paint_figure(draws, label, colour, canvas);
    if (marks > 1) paint_mark(draws, canvas);  // One mark may cover the figure.
    quantise(draws, canvas, pixels);
    return label;
}

}  // namespace dbench::data
