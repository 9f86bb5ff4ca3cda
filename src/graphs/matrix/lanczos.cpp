#include "graphs/matrix/lanczos.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/streams.hpp"

namespace dbench::graphs {
namespace {

constexpr double kLanczosWork = 5e9;  // multiplications; takes seconds
constexpr double kLeast = 200, kMost = 5000;
constexpr double kLanczosTolerance = 1e-11;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// A symmetric tridiagonal matrix: next[k] is the entry between diagonal k and k + 1; the last one
// couples to the space outside the matrix.
struct Tridiagonal {
    std::vector<double> diagonal, next;

    double bound() const {
        double most = 0;
        for (size_t k = 0; k < diagonal.size(); ++k) {
            const double before = k > 0 ? next[k - 1] : 0;
            most = std::max(most, std::abs(diagonal[k]) + before + next[k]);
        }
        return most;
    }
    Tridiagonal negative() const {
        Tridiagonal other = *this;
        for (double& value : other.diagonal) value = -value;
        return other;
    }
};

// Computes the pivots of x - T without row exchanges. All are positive exactly if x is above every
// eigenvalue.
bool pivots(const Tridiagonal& t, double x, std::vector<double>& out) {
    out.resize(t.diagonal.size());
    for (size_t k = 0; k < out.size(); ++k) {
        out[k] = x - t.diagonal[k] - (k > 0 ? t.next[k - 1] * t.next[k - 1] / out[k - 1] : 0);
        if (out[k] <= 0) return false;
    }
    return true;
}

struct Found {
    double value;
    double residual;  // of the operator, at the vector of this value
};

// Returns T's highest eigenvalue by bisection, and its vector by inverse iteration from just above.
Found highest(const Tridiagonal& t) {
    const double bound = t.bound();
    double low = -bound, high = bound * (1 + 4 * kEpsilon);
    std::vector<double> pivot;
    while (high - low > 4 * kEpsilon * bound) {
        const double middle = low + (high - low) / 2;
        (pivots(t, middle, pivot) ? high : low) = middle;
    }
    if (!pivots(t, high, pivot)) return {high, bound};
    const auto size = static_cast<int>(pivot.size());
    Eigen::VectorXd s = Eigen::VectorXd::Ones(size);
    for (int round = 0; round < 3; ++round) {
        for (int k = 1; k < size; ++k) s(k) += t.next[k - 1] / pivot[k - 1] * s(k - 1);
        for (int k = size - 1; k >= 0; --k) {
            s(k) = (s(k) + (k + 1 < size ? t.next[k] * s(k + 1) : 0)) / pivot[k];
        }
        s /= s.norm();
    }
    return {high, t.next.back() * std::abs(s(size - 1))};
}

// Returns the operator's eigenvalue at `end` if the tridiagonal matrix resolves it.
std::optional<double> resolved(const Tridiagonal& t, End end) {
    const double tolerance = kLanczosTolerance * t.bound();
    const auto good = [&](const Found& found) { return found.residual <= tolerance; };
    if (end == End::highest || end == End::lowest) {
        const Found found = highest(end == End::highest ? t : t.negative());
        if (!good(found)) return std::nullopt;
        return end == End::highest ? found.value : -found.value;
    }
    Found far = highest(t), near = highest(t.negative());
    const bool swapped = near.value > far.value;
    if (swapped) std::swap(far, near);
    // The nearer end may still move outwards, but by no more than its residual.
    if (!good(far) || (!good(near) && near.value + near.residual >= far.value)) return std::nullopt;
    return swapped ? -far.value : far.value;
}

}  // namespace

std::optional<double> lanczos(int n, const Operator& apply, double work, End end) {
    auto random = base::random_stream(0, base::ProbeStream::lanczos);
    Eigen::VectorXd x = Eigen::VectorXd::NullaryExpr(n, [&] { return 2 * random.uniform() - 1; });
    x /= x.norm();
    Eigen::VectorXd before = Eigen::VectorXd::Zero(n);
    Tridiagonal t;
    const auto limit =
        static_cast<size_t>(std::clamp(kLanczosWork / (work + 10.0 * n), kLeast, kMost));
    std::optional<double> earlier;
    size_t look = 16;
    while (t.diagonal.size() < limit) {
        Eigen::VectorXd y = apply(x);
        if (!t.next.empty()) y -= t.next.back() * before;
        t.diagonal.push_back(x.dot(y));
        y -= t.diagonal.back() * x;
        t.next.push_back(y.norm());
        // The Krylov space is invariant, so the values are exact.
        if (t.next.back() <= 1e-14 * t.bound()) return resolved(t, end);
        before = std::move(x);
        x = y / t.next.back();
        if (t.diagonal.size() < look) continue;
        // Require two equal values some steps apart: an eigenvalue whose vector the start hardly
        // contains may appear late.
        const auto now = resolved(t, end);
        if (now && earlier && std::abs(*now - *earlier) <= kLanczosTolerance * t.bound())
            return now;
        earlier = now;
        look += 4 + look / 8;
    }
    return std::nullopt;
}

}  // namespace dbench::graphs
