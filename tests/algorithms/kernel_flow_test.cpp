// Tests of KernelFlow against finite differences and closed forms.
#include "algorithms/kernel_flow.hpp"

#include <cmath>
#include <deque>

#include "base/random.hpp"
#include "catch.hpp"

using namespace dbench;
using namespace dbench::algorithms;
using Catch::Approx;

namespace {

constexpr int64_t kOutputs = 3, kModelParameters = 2100;

/// Linearised models with random entries, one part per element of `samples`.
struct Parts {
    std::deque<std::vector<double>> memory;
    std::vector<Linearised> all;

    explicit Parts(const std::vector<int64_t>& samples, int64_t outputs = kOutputs) {
        base::Random random(1, base::Purpose::regression, {77});
        for (const int64_t m : samples) {
            Linearised part{nullptr, arena::DType::float64, m, outputs, kModelParameters};
            auto& values = memory.emplace_back(static_cast<size_t>(part.elements()));
            part.data = reinterpret_cast<char*>(values.data());
            for (double& value : values) value = random.normal();
            for (int64_t k = 0; k < m * outputs * kModelParameters; ++k) {
                part.jacobian<double>(0, 0)[k] /= std::sqrt(double(kModelParameters));
            }
            for (int64_t s = 0; s < m; ++s) {
                for (int64_t c = 0; c < outputs; ++c) {
                    part.y<double>()[s * outputs + c] = c == s % outputs;
                }
            }
            all.push_back(part);
        }
    }
};

/// Mean cross-entropy of all parts' outputs after the parameters moved by `change`.
double loss(const Parts& parts, const std::vector<double>& change) {
    double sum = 0;
    int64_t samples = 0;
    for (const Linearised& part : parts.all) {
        samples += part.samples;
        for (int64_t s = 0; s < part.samples; ++s) {
            double total = 0;
            for (int64_t c = 0; c < part.outputs; ++c) {
                double f = part.f<double>()[s * part.outputs + c];
                for (int64_t p = 0; p < kModelParameters; ++p) {
                    f += part.jacobian<double>(s, c)[p] * change[p];
                }
                total += std::exp(f);
                sum -= part.y<double>()[s * part.outputs + c] * f;
            }
            sum += std::log(total);
        }
    }
    return sum / double(samples);
}

}  // namespace

TEST_CASE("the initial direction is the gradient of the mean loss on the gathered samples") {
    const Parts parts({3, 2});
    const KernelFlow flow(parts.all, true);
    REQUIRE(flow.samples() == 5);
    const auto gradient = flow.gradient(flow.residual(flow.start()));
    const double h = 1e-6;
    std::vector<double> ahead, back;
    base::Random random(1, base::Purpose::regression, {78});
    double slope = 0;
    for (int64_t p = 0; p < kModelParameters; ++p) {
        const double d = random.normal();
        ahead.push_back(h * d);
        back.push_back(-h * d);
        slope += gradient[p] * d;
    }
    CHECK((loss(parts, ahead) - loss(parts, back)) / (2 * h) == Approx(slope).epsilon(1e-7));
}

TEST_CASE("the kernel is the mean over outputs of the products of Jacobian rows") {
    const Parts parts({2, 1});
    const KernelFlow flow(parts.all, true);
    double product = 0;  // For the second and the third sample.
    for (int64_t c = 0; c < kOutputs; ++c) {
        for (int64_t p = 0; p < kModelParameters; ++p) {
            product += parts.all[0].jacobian<double>(1, c)[p] *
                       parts.all[1].jacobian<double>(0, c)[p] / kOutputs;
        }
    }
    CHECK(flow.kernel()[1 * 3 + 2] == Approx(product));
    CHECK(flow.kernel()[2 * 3 + 1] == flow.kernel()[1 * 3 + 2]);
}

TEST_CASE("with squared differences the flow matches the closed form") {
    // Two samples: the component along an eigenvector of H decays at the eigenvalue's rate.
    const Parts parts({1, 1}, 1);
    const KernelFlow flow(parts.all, false);
    const double a = flow.kernel()[0], b = flow.kernel()[1], d = flow.kernel()[3];
    const double value = (a + d) / 2 + std::sqrt((a - d) * (a - d) / 4 + b * b);
    const double vector[] = {b, value - a};
    const auto along = [&](const std::vector<double>& f) {
        const auto r = flow.residual(f);
        return vector[0] * r[0] + vector[1] * r[1];
    };
    auto f = flow.start();
    for (int u = 1; u <= 40; ++u) {
        f = flow.after(f, 0.05);
        const double expected = std::exp(-value / 2 * 0.05 * u) * along(flow.start());
        CHECK(along(f) == Approx(expected).epsilon(1e-6));
    }
}

TEST_CASE("the flow converges to the targets") {
    const Parts parts({3, 4});
    const KernelFlow flow(parts.all, true);
    const auto wrong = [&](const std::vector<double>& f) {
        double sum = 0;
        for (const double r : flow.residual(f)) sum += r * r;
        return sum;
    };
    auto f = flow.start();
    for (int u = 0; u < 400; ++u) f = flow.after(f, 0.5);
    CHECK(wrong(f) < 0.01 * wrong(flow.start()));
}
