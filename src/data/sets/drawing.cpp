#include "data/sets/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dbench::data {
namespace {

constexpr float kSide = kShapeSide;
using Colour = std::array<float, 3>;

// Draws of this file: float arithmetic of a few values, in a fixed order.
struct Dice {
    base::Random random;
    float difficulty;

    float unit() { return static_cast<float>(random.bits() >> 8) * 0x1p-24F; }
    float between(float low, float high) { return low + (high - low) * unit(); }
    /// Any colour where difficulty is 1, the grey `usual` where it is 0.
    Colour colour(float usual) {
        Colour result;
        for (float& each : result) each = usual + difficulty * (unit() - usual);
        return result;
    }
};

struct Canvas {
    std::array<float, kShapePixels> values;  // (3, 32, 32), black 0 to white 1

    void mix(int64_t x, int64_t y, const Colour& colour, float share) {
        for (int64_t c = 0; c < 3; ++c) {
            float& value = values[(c * kShapeSide + y) * kShapeSide + x];
            value += share * (colour[c] - value);
        }
    }

    /// Paints where `distance(x, y)`, in pixels, is negative, with a soft edge of one pixel.
    template <class Distance>
    void paint(float centre_x, float centre_y, float reach, const Colour& colour,
               Distance&& distance) {
        const auto clamp = [](float value) {
            return static_cast<int64_t>(std::clamp(value, 0.0F, kSide));
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

// A slope from one colour to a neighbouring one, in a random direction.
void paint_background(Dice& dice, const Colour& colour, Canvas& canvas) {
    const float angle = 2 * std::numbers::pi_v<float> * dice.unit();
    const float across = std::cos(angle) / kSide, down = std::sin(angle) / kSide;
    Colour change;
    for (float& each : change) each = dice.difficulty * (dice.unit() - 0.5F);
    for (int64_t y = 0; y < kShapeSide; ++y) {
        for (int64_t x = 0; x < kShapeSide; ++x) {
            const float along = across * (static_cast<float>(x) - kSide / 2) +
                                down * (static_cast<float>(y) - kSide / 2);
            for (int64_t c = 0; c < 3; ++c) {
                canvas.values[(c * kShapeSide + y) * kShapeSide + x] =
                    colour[c] + along * change[c];
            }
        }
    }
}

// A dot or a thin stroke, which tells nothing about the class.
void paint_mark(Dice& dice, Canvas& canvas) {
    const float x = dice.between(0, kSide), y = dice.between(0, kSide);
    const Colour colour = dice.colour(0.5F);
    const float angle = std::numbers::pi_v<float> * dice.unit();
    const float half_length = dice.unit() < 0.5F ? 0 : dice.between(2, 6);
    const float thickness = half_length > 0 ? 0.7F : dice.between(0.8F, 1.8F);
    const float cosine = std::cos(angle), sine = std::sin(angle);
    canvas.paint(x, y, half_length + thickness + 1, colour, [&](float dx, float dy) {
        const float along = std::clamp(dx * cosine + dy * sine, -half_length, half_length);
        return std::hypot(dx - along * cosine, dy - along * sine) - thickness;
    });
}

void paint_figure(Dice& dice, int64_t label, const Colour& colour, Canvas& canvas) {
    const float d = dice.difficulty;
    const float radius = 10.5F + d * dice.between(-5.5F, 2.5F);
    const float room = d * (kSide / 2 - 0.9F * radius);
    const float x = kSide / 2 + dice.between(-room, room);
    const float y = kSide / 2 + dice.between(-room, room);
    const float angle = d * std::numbers::pi_v<float> * dice.between(-1, 1);
    const float stretch = 1 + 0.3F * d * dice.between(-1, 1);
    const float cosine = std::cos(angle), sine = std::sin(angle);
    canvas.paint(x, y, 1.5F * radius, colour, [&](float dx, float dy) {
        const float u = (dx * cosine + dy * sine) / (radius * stretch);
        const float v = (dy * cosine - dx * sine) / radius * stretch;
        return radius * figure_distance(label, u, v);
    });
}

// Noise of the sum of two bytes: nearly bell-shaped, and eight values from one Philox block.
void quantise(Dice& dice, const Canvas& canvas, uint8_t* pixels) {
    const float strength = 0.45F * dice.difficulty / 255;  // of a deviation of 0.41 times this
    for (int64_t p = 0; p < kShapePixels; p += 2) {
        const uint32_t bits = dice.random.bits();
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
    Dice dice{random, static_cast<float>(difficulty)};
    const auto label = static_cast<uint8_t>(dice.random.below(kShapeClasses));
    const Colour ground = dice.colour(0.2F);
    Colour colour = dice.colour(0.8F);
    const float wanted = 0.8F - 0.4F * dice.difficulty;
    for (int tries = 0; tries < 20 && contrast(ground, colour) < wanted; ++tries) {
        colour = dice.colour(0.8F);
    }
    Canvas canvas;
    paint_background(dice, ground, canvas);
    const int marks = static_cast<int>(6 * dice.difficulty * dice.unit() + 0.5F);
    for (int k = 0; k < marks; ++k) paint_mark(dice, canvas);
    paint_figure(dice, label, colour, canvas);
    if (marks > 1) paint_mark(dice, canvas);  // one may lie over the figure
    quantise(dice, canvas, pixels);
    return label;
}

}  // namespace dbench::data
