// Tests of batch normalisation and ReLU in two launches each way, compared with the formulas in
// float64.

#include "arena/passes/norm_relu.hpp"

#include <cmath>
#include <limits>

#include "arena/emulated_device.hpp"
#include "arena/random_rows.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

template <class T>
struct alignas(16) Sixteen {
    T of[16 / sizeof(T)];
};

/// Numbers whose memory starts at a multiple of 16 bytes.
template <class T>
class Aligned {
public:
    explicit Aligned(int64_t count = 0, T value = std::numeric_limits<T>::quiet_NaN())
        : memory_(static_cast<size_t>((count * static_cast<int64_t>(sizeof(T)) + 15) / 16)) {
        for (int64_t k = 0; k < count; ++k) (*this)[k] = value;
    }
    T* data() const { return const_cast<T*>(memory_.data()->of); }
    T& operator[](int64_t k) const { return data()[k]; }

private:
    std::vector<Sixteen<T>> memory_;
};

/// Images with the inputs and results of both passes.
template <class T>
struct Pass {
    Images images;
    bool adds;
    Aligned<T> x, added, weight, bias, gradient, running_mean, running_variance;
    Aligned<T> y, g, dx, dweight, dbias;
    Aligned<double> statistics, sums;

    Pass(int64_t pixels, int64_t channels, bool with_added, uint64_t seed = 7)
        : images{sizeof(T) == 4 ? DType::float32 : DType::float64, pixels, channels},
          adds(with_added) {
        std::mt19937_64 draw(seed);
        std::normal_distribution<double> normal;
        const auto drawn = [&](int64_t count, double by, double to) {
            Aligned<T> all(count);
            for (int64_t k = 0; k < count; ++k) all[k] = static_cast<T>(to + by * normal(draw));
            return all;
        };
        const int64_t all = pixels * channels;
        x = drawn(all, 3, 5), gradient = drawn(all, 1, 0);
        if (adds) added = drawn(all, 1, 0), g = Aligned<T>(all);
        weight = drawn(channels, 1, 0), bias = drawn(channels, 1, 0);
        running_mean = drawn(channels, 1, 0), running_variance = drawn(channels, 0.1, 1);
        y = Aligned<T>(all), dx = Aligned<T>(all);
        dweight = Aligned<T>(channels), dbias = Aligned<T>(channels);
        statistics = Aligned<double>(2 * channels), sums = Aligned<double>(norm_sums(images));
    }
    Norm norm() const { return {weight.data(), bias.data()}; }

    void run(Queue& queue) {
        norm_relu(images, x.data(), adds ? added.data() : nullptr, norm(), 0.1, 1e-5,
                  running_mean.data(), running_variance.data(), y.data(), statistics.data(),
                  sums.data(), queue);
        norm_relu_gradients(images,
                            {x.data(), adds ? y.data() : nullptr, norm(), statistics.data()},
                            gradient.data(), adds ? g.data() : nullptr, dx.data(), dweight.data(),
                            dbias.data(), sums.data(), queue);
    }
};

/// Checks the results of one channel against the definition.
template <class T>
void check_channel(const Pass<T>& before, const Pass<T>& after, int64_t c, double tolerance) {
    const auto [type, pixels, channels] = before.images;
    const auto n = static_cast<double>(pixels);
    const auto near = [&](double found, double right, double size = 1) {
        return std::abs(found - right) <= tolerance * (size + std::abs(right));
    };
    const auto at = [channels = channels, c](const Aligned<T>& all, int64_t m) {
        return static_cast<double>(all[m * channels + c]);
    };
    double mean = 0, variance = 0;
    for (int64_t m = 0; m < pixels; ++m) mean += at(before.x, m) / n;
    for (int64_t m = 0; m < pixels; ++m) variance += std::pow(at(before.x, m) - mean, 2) / n;
    const double inverse = 1 / std::sqrt(variance + 1e-5);
    CHECK(near(after.statistics[c], mean));
    CHECK(near(after.statistics[channels + c], inverse));
    CHECK(near(static_cast<double>(after.running_mean[c]),
               0.9 * static_cast<double>(before.running_mean[c]) + 0.1 * mean));
    CHECK(near(static_cast<double>(after.running_variance[c]),
               0.9 * static_cast<double>(before.running_variance[c]) +
                   0.1 * variance * n / std::max(n - 1, 1.0)));

    const auto w = static_cast<double>(before.weight[c]), b = static_cast<double>(before.bias[c]);
    double sum = 0, product = 0;
    bool same = true;
    for (int64_t m = 0; m < pixels; ++m) {
        const double normal = (at(before.x, m) - mean) * inverse;
        const double z = w * normal + b + (before.adds ? at(before.added, m) : 0);
        same = same && near(at(after.y, m), std::max(z, 0.0));
        // The output y decides what the ReLU passes, because z may be close to zero.
        const double g = at(after.y, m) > 0 ? at(before.gradient, m) : 0;
        if (before.adds) same = same && at(after.g, m) == g;
        sum += g, product += g * normal;
    }
    CHECK(same);
    CHECK(near(static_cast<double>(after.dbias[c]), sum, std::sqrt(n)));
    CHECK(near(static_cast<double>(after.dweight[c]), product, std::sqrt(n)));
    for (int64_t m = 0; m < pixels; ++m) {
        const double normal = (at(before.x, m) - mean) * inverse;
        const double g = at(after.y, m) > 0 ? at(before.gradient, m) : 0;
        const double right = w * inverse * (g - sum / n - normal * product / n);
        same = same && near(at(after.dx, m), right);
    }
    CHECK(same);
}

template <class T>
bool norm_relu_same_bits(const Aligned<T>& a, const Aligned<T>& b, int64_t count) {
    return std::memcmp(a.data(), b.data(), static_cast<size_t>(count) * sizeof(T)) == 0;
}

TEMPLATE_TEST_CASE("results follow the formulas, and a device gives the host's bits", "", float,
                   double) {
    using T = TestType;
    // Cases: fewer pixels than lanes; channels of several slices, the last one narrow; many parts.
    const auto [pixels, channels] = GENERATE(
        std::pair<int64_t, int64_t>{1, 4}, std::pair{2, 4}, std::pair{300, 16}, std::pair{1000, 36},
        std::pair{70, 256}, std::pair{9000, 12}, std::pair{140000, 4});
    const bool adds = GENERATE(false, true);
    CAPTURE(pixels, channels, adds);
    const Pass<T> before(pixels, channels, adds);
    Pass<T> host(pixels, channels, adds), device(pixels, channels, adds);
    REQUIRE(supports_images(host.images));
    host.run(host_queue());
    EmulatedDevice emulated(5, -1, EmulatedDevice::Pace::random);
    device.run(emulated.add_queue());
    emulated.finish();

    for (int64_t c = 0; c < channels; c += channels < 40 ? 1 : 37) {
        check_channel(before, host, c, sizeof(T) == 4 ? 2e-4 : 1e-10);
    }
    const int64_t all = pixels * channels;
    CHECK(norm_relu_same_bits(host.y, device.y, all));
    CHECK(norm_relu_same_bits(host.dx, device.dx, all));
    if (adds) CHECK(norm_relu_same_bits(host.g, device.g, all));
    CHECK(norm_relu_same_bits(host.dweight, device.dweight, channels));
    CHECK(norm_relu_same_bits(host.dbias, device.dbias, channels));
    CHECK(norm_relu_same_bits(host.running_mean, device.running_mean, channels));
    CHECK(norm_relu_same_bits(host.running_variance, device.running_variance, channels));
    CHECK(norm_relu_same_bits(host.statistics, device.statistics, 2 * channels));
}

TEST_CASE("a NaN remains a NaN, only in its channel") {
    Pass<float> pass(100, 8, false);
    pass.x[3 * 8 + 5] = std::numeric_limits<float>::quiet_NaN();
    pass.run(host_queue());
    for (int64_t c = 0; c < 8; ++c) {
        CHECK(std::isnan(pass.y[40 * 8 + c]) == (c == 5));
        CHECK(std::isnan(pass.dx[40 * 8 + c]) == (c == 5));
        CHECK(std::isnan(pass.dweight[c]) == (c == 5));
    }
}

TEST_CASE("channels of equal values have a variance of zero") {
    Pass<float> pass(1000, 4, false);
    for (int64_t k = 0; k < 4000; ++k) pass.x[k] = 1e6F + static_cast<float>(k % 4);
    pass.run(host_queue());
    for (int64_t c = 0; c < 4; ++c) {
        CHECK(pass.statistics[c] == 1e6 + static_cast<double>(c));
        CHECK(pass.statistics[4 + c] == 1 / std::sqrt(1e-5));
        CHECK(pass.y[4 * 77 + c] == std::max(pass.bias[c], 0.0F));
    }
}

TEST_CASE("images whose channels do not fill packs are refused") {
    CHECK_FALSE(supports_images({DType::float32, 10, 6}));
    CHECK(supports_images({DType::float64, 10, 6}));
    CHECK_FALSE(supports_images({DType::float64, 10, 5}));
    CHECK(supports_images({DType::float32, int64_t{1} << 26, 16}));
    CHECK_FALSE(supports_images({DType::float32, int64_t{1} << 27, 16}));  // More elements than
                                                                           // kernels can index.
}

}  // namespace
}  // namespace dbench::arena
