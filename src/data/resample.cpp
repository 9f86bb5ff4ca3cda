#include "data/resample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/error.hpp"

namespace dbench::data {
namespace {

constexpr int64_t kColours = 3;

/// The pixels that an output sample uses, and their weights.
struct Taps {
    int64_t first = 0;
    std::vector<float> weights;  // Their sum is 1.
};

// Returns the taps of all samples of an axis. `begin` is the first pixel that is available.
std::vector<Taps> taps_of(const Axis& axis, int64_t begin) {
    const double support = std::max(1.0, axis.step);
    std::vector<Taps> all(static_cast<size_t>(axis.count));
    std::vector<double> weights;
    for (int64_t k = 0; k < axis.count; ++k) {
        const double centre = axis.origin + (static_cast<double>(k) + 0.5) * axis.step;
        const auto from =
            std::max(axis.first, static_cast<int64_t>(std::ceil(centre - support - 0.5)));
        const auto to =
            std::min(axis.last, static_cast<int64_t>(std::floor(centre + support - 0.5)) + 1);
        weights.clear();
        double sum = 0;
        for (int64_t p = from; p < to; ++p) {
            const double distance = std::abs(static_cast<double>(p) + 0.5 - centre) / support;
            weights.push_back(std::max(0.0, 1 - distance));
            sum += weights.back();
        }
        DBENCH_EXPECT(sum > 0);
        all[k].first = from - begin;
        for (const double weight : weights) {
            all[k].weights.push_back(static_cast<float>(weight / sum));
        }
    }
    return all;
}

// Computes a weighted mean of rows at a distance of `stride` bytes. Two rows per pass, so that
// fewer partial sums go through memory.
void mean_of_rows(const uint8_t* rows, int64_t stride, const std::vector<float>& weights,
                  int64_t count, float* out) {
    size_t t = 0;
    bool begun = false;
    for (; t + 2 <= weights.size(); t += 2) {
        const uint8_t* a = rows + static_cast<int64_t>(t) * stride;
        const uint8_t* b = a + stride;
        const float u = weights[t], v = weights[t + 1];
        if (begun) {
            for (int64_t k = 0; k < count; ++k) out[k] += u * a[k] + v * b[k];
        } else {
            for (int64_t k = 0; k < count; ++k) out[k] = u * a[k] + v * b[k];
        }
        begun = true;
    }
    if (t == weights.size()) return;
    const uint8_t* a = rows + static_cast<int64_t>(t) * stride;
    const float u = weights[t];
    if (begun) {
        for (int64_t k = 0; k < count; ++k) out[k] += u * a[k];
    } else {
        for (int64_t k = 0; k < count; ++k) out[k] = u * a[k];
    }
}

/// The normalisation (value / 255 - mean) / deviation in the form scale value + shift.
struct Affine {
    std::array<float, kColours> scale, shift;
    explicit Affine(const Normalization& n) {
        for (size_t c = 0; c < kColours; ++c) {
            scale[c] = static_cast<float>(1 / (255 * n.deviation[c]));
            shift[c] = static_cast<float>(-n.mean[c] / n.deviation[c]);
        }
    }
};

template <class T>
void write_row(const float* row, const std::vector<Taps>& taps, bool mirrored, const Affine& affine,
               int64_t colour_step, int64_t pixel_step, T* out) {
    const auto count = static_cast<int64_t>(taps.size());
    for (int64_t k = 0; k < count; ++k) {
        const Taps& at = taps[k];
        const float* from = row + at.first * kColours;
        float red = 0, green = 0, blue = 0;
        for (const float weight : at.weights) {
            red += weight * from[0];
            green += weight * from[1];
            blue += weight * from[2];
            from += kColours;
        }
        T* to = out + (mirrored ? count - 1 - k : k) * pixel_step;
        to[0] = static_cast<T>(affine.scale[0] * red + affine.shift[0]);
        to[colour_step] = static_cast<T>(affine.scale[1] * green + affine.shift[1]);
        to[2 * colour_step] = static_cast<T>(affine.scale[2] * blue + affine.shift[2]);
    }
}

}  // namespace

void resample(const Pixels& in, const Axis& x, const Axis& y, bool mirrored,
              const Normalization& normalization, arena::DType type, Order order, void* out) {
    const std::vector<Taps> across = taps_of(x, in.left), down = taps_of(y, in.top);
    const Affine affine(normalization);
    const bool last = order == Order::channels_last;
    const int64_t colour_step = last ? 1 : x.count * y.count, pixel_step = last ? kColours : 1;
    const int64_t stride = in.width * kColours;
    // Only these columns are used by any sample.
    int64_t begin = in.width, end = 0;
    for (const Taps& taps : across) {
        begin = std::min(begin, taps.first);
        end = std::max(end, taps.first + static_cast<int64_t>(taps.weights.size()));
    }
    DBENCH_EXPECT(begin >= 0 && end <= in.width);
    thread_local std::vector<float> row;
    row.resize(static_cast<size_t>(stride));
    for (int64_t j = 0; j < y.count; ++j) {
        const Taps& taps = down[j];
        DBENCH_EXPECT(taps.first >= 0 &&
                      taps.first + static_cast<int64_t>(taps.weights.size()) <= in.height);
        mean_of_rows(in.rgb.data() + taps.first * stride + begin * kColours, stride, taps.weights,
                     (end - begin) * kColours, row.data() + begin * kColours);
        const int64_t at = j * x.count * pixel_step;
        if (type == arena::DType::float32) {
            write_row(row.data(), across, mirrored, affine, colour_step, pixel_step,
                      static_cast<float*>(out) + at);
        } else {
            write_row(row.data(), across, mirrored, affine, colour_step, pixel_step,
                      static_cast<double*>(out) + at);
        }
    }
}

}  // namespace dbench::data
