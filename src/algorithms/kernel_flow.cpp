#include "algorithms/kernel_flow.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "arena/loops.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

// Columns per block: a block stays in the L1 cache while all rows are multiplied.
constexpr int64_t kBlock = 512;

/// Returns a'b. The sum is split into lanes so that compilers can use vector registers.
template <class T>
DBENCH_INLINE double sum_of_products(const T* a, const T* b, int64_t count) {
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

DBENCH_CLONES double product(const float* a, const float* b, int64_t count) {
    return sum_of_products(a, b, count);
}
DBENCH_CLONES double product(const double* a, const double* b, int64_t count) {
    return sum_of_products(a, b, count);
}

/// Computes out += H r for H [n, n] and r [n, columns].
DBENCH_CLONES void add_product(const double* h, const double* r, int64_t n, int64_t columns,
                               double* out) {
    for (int64_t a = 0; a < n; ++a) {
        for (int64_t b = 0; b < n; ++b) {
            const double share = h[a * n + b];
            DBENCH_INDEPENDENT
            for (int64_t c = 0; c < columns; ++c) {
                out[a * columns + c] += share * r[b * columns + c];
            }
        }
    }
}

/// Computes out += share row.
template <class T>
DBENCH_INLINE void add_row(double share, const T* row, int64_t count, double* out) {
    DBENCH_INDEPENDENT
    for (int64_t p = 0; p < count; ++p) out[p] += share * static_cast<double>(row[p]);
}
DBENCH_CLONES void add(double share, const float* row, int64_t count, double* out) {
    add_row(share, row, count, out);
}
DBENCH_CLONES void add(double share, const double* row, int64_t count, double* out) {
    add_row(share, row, count, out);
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
    for (const double value : kernel_) rates_.push_back(-value / static_cast<double>(samples_));
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
    add_product(rates_.data(), r.data(), samples_, outputs_, out.data());
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
                    add(share, row, count, out.data() + begin);
                }
            }
        }
    });
    return out;
}

}  // namespace dbench::algorithms
