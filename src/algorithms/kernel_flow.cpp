#include "algorithms/kernel_flow.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

// Columns per block: a block stays in the L1 cache while all rows are multiplied.
constexpr int64_t kBlock = 512;

/// Returns a'b. The sum is split into lanes so that compilers can use vector registers.
template <class T>
double product(const T* a, const T* b, int64_t count) {
    constexpr int64_t kLanes = 16;
    double lanes[kLanes] = {}, sum = 0;
    int64_t k = 0;
    for (; k + kLanes <= count; k += kLanes) {
        for (int64_t j = 0; j < kLanes; ++j) {
            lanes[j] += static_cast<double>(a[k + j]) * static_cast<double>(b[k + j]);
        }
    }
    for (; k < count; ++k) sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    for (const double lane : lanes) sum += lane;
    return sum;
}

/// Computes r = softmax f - y of one sample.
void softmax_residual(const double* f, const double* y, int64_t outputs, double* r) {
    const double top = *std::max_element(f, f + outputs);
    double sum = 0;
    for (int64_t c = 0; c < outputs; ++c) sum += r[c] = std::exp(f[c] - top);
    for (int64_t c = 0; c < outputs; ++c) r[c] = r[c] / sum - y[c];
}

std::vector<double> add_scaled(std::vector<double> f, double time, const std::vector<double>& v) {
    for (size_t k = 0; k < f.size(); ++k) f[k] += time * v[k];
    return f;
}

/// Identifies a sample among the samples of all parts.
struct Sample {
    const Linearised* part;
    int64_t index;
};

template <class T>
std::vector<double> kernel_of(const std::vector<Sample>& rows, int64_t outputs,
                              int64_t parameters) {
    const auto n = static_cast<int64_t>(rows.size());
    std::vector<double> h(static_cast<size_t>(n * n));
    for (int64_t c = 0; c < outputs; ++c) {
        for (int64_t begin = 0; begin < parameters; begin += kBlock) {
            const int64_t count = std::min(kBlock, parameters - begin);
            for (int64_t a = 0; a < n; ++a) {
                const T* const row = rows[a].part->jacobian<T>(rows[a].index, c) + begin;
                for (int64_t b = 0; b <= a; ++b) {
                    h[a * n + b] +=
                        product(row, rows[b].part->jacobian<T>(rows[b].index, c) + begin, count);
                }
            }
        }
    }
    for (int64_t a = 0; a < n; ++a) {
        for (int64_t b = 0; b <= a; ++b) {
            h[a * n + b] /= static_cast<double>(outputs);
            h[b * n + a] = h[a * n + b];
        }
    }
    return h;
}

}  // namespace

KernelFlow::KernelFlow(std::vector<Linearised> parts, bool classes)
    : parts_(std::move(parts)), classes_(classes) {
    DBENCH_EXPECT(!parts_.empty());
    outputs_ = parts_.front().outputs;
    parameters_ = parts_.front().parameters;
    std::vector<Sample> rows;
    for (const Linearised& part : parts_) {
        DBENCH_EXPECT(part.outputs == outputs_ && part.parameters == parameters_ &&
                      part.type == parts_.front().type);
        samples_ += part.samples;
        for (int64_t s = 0; s < part.samples; ++s) rows.push_back({&part, s});
    }
    arena::with_type(parts_.front().type, [&]<class T>() {
        for (const Linearised& part : parts_) {
            const int64_t values = part.samples * outputs_;
            start_.insert(start_.end(), part.f<T>(), part.f<T>() + values);
            targets_.insert(targets_.end(), part.y<T>(), part.y<T>() + values);
        }
        kernel_ = kernel_of<T>(rows, outputs_, parameters_);
    });
}

std::vector<double> KernelFlow::residual(const std::vector<double>& f) const {
    if (!classes_) return add_scaled(f, -1, targets_);
    std::vector<double> r(f.size());
    for (int64_t k = 0; k < samples_ * outputs_; k += outputs_) {
        softmax_residual(f.data() + k, targets_.data() + k, outputs_, r.data() + k);
    }
    return r;
}

std::vector<double> KernelFlow::velocity(const std::vector<double>& f) const {
    const std::vector<double> r = residual(f);
    std::vector<double> out(f.size());
    for (int64_t a = 0; a < samples_; ++a) {
        for (int64_t b = 0; b < samples_; ++b) {
            const double share = -kernel_[a * samples_ + b] / static_cast<double>(samples_);
            for (int64_t c = 0; c < outputs_; ++c) {
                out[a * outputs_ + c] += share * r[b * outputs_ + c];
            }
        }
    }
    return out;
}

std::vector<double> KernelFlow::after(const std::vector<double>& f, double time) const {
    const auto k1 = velocity(f);
    const auto k2 = velocity(add_scaled(f, time / 2, k1));
    const auto k3 = velocity(add_scaled(f, time / 2, k2));
    const auto k4 = velocity(add_scaled(f, time, k3));
    std::vector<double> next = f;
    for (size_t k = 0; k < next.size(); ++k) {
        next[k] += time / 6 * (k1[k] + 2 * k2[k] + 2 * k3[k] + k4[k]);
    }
    return next;
}

std::vector<double> KernelFlow::gradient(const std::vector<double>& r) const {
    std::vector<double> out(static_cast<size_t>(parameters_));
    arena::with_type(parts_.front().type, [&]<class T>() {
        for (int64_t begin = 0; begin < parameters_; begin += kBlock) {
            const int64_t count = std::min(kBlock, parameters_ - begin);
            const double* next = r.data();
            for (const Linearised& part : parts_) {
                for (int64_t k = 0; k < part.samples * outputs_; ++k, ++next) {
                    const double share = *next / static_cast<double>(samples_);
                    const T* const row = part.jacobian<T>(0, k) + begin;
                    for (int64_t p = 0; p < count; ++p) {
                        out[begin + p] += share * static_cast<double>(row[p]);
                    }
                }
            }
        }
    });
    return out;
}

}  // namespace dbench::algorithms
