#include "data/view.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/random.hpp"

namespace dbench::data {
namespace {

// Returns `size` samples of the pixels begin .. begin + length - 1, and of no other pixels.
Axis axis_of(int64_t begin, int64_t length, int64_t size) {
    return {static_cast<double>(begin), static_cast<double>(length) / static_cast<double>(size),
            size, begin, begin + length};
}

// Returns `size` samples in the middle of a side of `length` pixels that is resized to `resized`.
Axis middle_of(int64_t length, int64_t resized, int64_t size) {
    const double step = static_cast<double>(length) / static_cast<double>(resized);
    const double begin = std::nearbyint(static_cast<double>(resized - size) / 2);
    return {begin * step, step, size, 0, length};
}

}  // namespace

View random_view(uint64_t key, int64_t width, int64_t height, int64_t size) {
    constexpr double kLeastArea = 0.08, kLeastRatio = 3.0 / 4, kMostRatio = 4.0 / 3;
    constexpr int kTries = 10;
    base::Random random(key, base::Purpose::augment);
    const auto between = [&](double least, double most) {
        return least + (most - least) * random.uniform();
    };
    const auto area = static_cast<double>(width * height);
    int64_t w = 0, h = 0, left = 0, top = 0;
    bool fits = false;
    for (int k = 0; k < kTries && !fits; ++k) {
        const double target = area * between(kLeastArea, 1);
        const double ratio = std::exp(between(std::log(kLeastRatio), std::log(kMostRatio)));
        w = std::lround(std::sqrt(target * ratio));
        h = std::lround(std::sqrt(target / ratio));
        fits = w >= 1 && w <= width && h >= 1 && h <= height;
    }
    if (fits) {
        left = static_cast<int64_t>(random.below(static_cast<uint64_t>(width - w + 1)));
        top = static_cast<int64_t>(random.below(static_cast<uint64_t>(height - h + 1)));
    } else {
        const auto most = [](int64_t other, double ratio) {
            return std::max<int64_t>(1, std::lround(static_cast<double>(other) * ratio));
        };
        w = std::min(width, most(height, kMostRatio));
        h = std::min(height, most(width, 1 / kLeastRatio));
        left = (width - w) / 2;
        top = (height - h) / 2;
    }
    return {axis_of(left, w, size), axis_of(top, h, size), (random.bits() & 1) != 0};
}

View central_view(int64_t width, int64_t height, int64_t size) {
    const int64_t shorter = std::min(width, height);
    const int64_t resized = std::lround(static_cast<double>(size) * 256 / 224);
    return {middle_of(width, resized * width / shorter, size),
            middle_of(height, resized * height / shorter, size), false};
}

int64_t eighths_for(const View& view) {
    const double step = std::min(view.x.step, view.y.step);
    return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(8 / step)), 1, 8);
}

View scaled(const View& view, int64_t eighths) {
    const double scale = static_cast<double>(eighths) / 8;
    const auto axis = [scale](const Axis& a) -> Axis {
        return {a.origin * scale, a.step * scale, a.count,
                static_cast<int64_t>(std::floor(static_cast<double>(a.first) * scale)),
                static_cast<int64_t>(std::ceil(static_cast<double>(a.last) * scale))};
    };
    return {axis(view.x), axis(view.y), view.mirrored};
}

Part part_of(const View& view) {
    const auto ends = [](const Axis& a) {
        const double support = std::max(1.0, a.step);
        const double begin = a.origin - support;
        const double end = a.origin + static_cast<double>(a.count) * a.step + support;
        return std::pair(std::max(begin, static_cast<double>(a.first)),
                         std::min(end, static_cast<double>(a.last)));
    };
    const auto [left, right] = ends(view.x);
    const auto [top, bottom] = ends(view.y);
    return {left, top, right - left, bottom - top};
}

}  // namespace dbench::data
