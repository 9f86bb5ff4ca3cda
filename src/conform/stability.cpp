#include "conform/stability.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/streams.hpp"
#include "conform/recursion.hpp"
#include "conform/weights.hpp"
#include "graphs/matrix/dense.hpp"
#include "graphs/matrix/matrix.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::conform {
namespace {

using Complex = std::complex<double>;

constexpr double kEigenvalues = 1e-6;  // defective eigenvalues lose more than half of the digits
constexpr double kSampled = 5e-3;
constexpr int64_t kMostEigenvalues = 1 << 17;
constexpr int64_t kSymmetricDense = 1536;  // limit of the certificates
constexpr Eigen::Index kDense = 400;  // most rows of an operator whose eigenvalues are computed
constexpr double kWork = 1e9;         // most multiplications for such an operator
constexpr int64_t kRounds = 2000;     // most rounds of a sample
constexpr int64_t kSampledRows = 1 << 24;  // most rows of all rounds of a sample together
constexpr int64_t kFewest = 100;  // fewest rounds of a sample; with fewer the growth is unknown
constexpr Eigen::Index kColumns = 2;

/// One period of the graph on the space without the mean: either W itself, or W's eigenvalues a + i
/// b on the diagonal as blocks [a -b; b a] (or a if all are real).
struct Period {
    std::vector<Weights> rounds;
    Eigen::Index block;  ///< Rows of a block; the rows of W if there is only W itself.
};

/// Returns W's eigenvalues except that of the mean, in the order of their eigenvectors. Empty if
/// they are unknown, or if the next round's do not belong to the same eigenvectors.
std::vector<Complex> eigenvalues(const graphs::Schedule& graph, int64_t t,
                                 std::optional<graphs::Spectrum::Basis>& basis) {
    const auto matrix = graph.matrix(graph.at(t));
    if (!matrix) return {};
    std::vector<Complex> values;
    if (const auto closed = matrix->spectrum()) {
        using Basis = graphs::Spectrum::Basis;
        if (basis && (*basis != closed->basis || *basis == Basis::own)) return {};
        basis = closed->basis;
        for (size_t k = 1; k < closed->values.size(); ++k) {
            values.push_back(1.0 - closed->values[k]);
        }
        return values;
    }
    if (graph.period() != 1 || graph.size() > kSymmetricDense) return {};
    for (int i = 0; i < graph.size(); ++i) {
        const auto row = matrix->in(i), column = matrix->out(i);
        const auto alike = [](const graphs::Link& a, const graphs::Link& b) {
            return a.peer == b.peer && std::abs(a.weight - b.weight) <= 1e-15;
        };
        if (!std::equal(row.begin(), row.end(), column.begin(), column.end(), alike)) return {};
    }
    std::vector<double> all = matrix->eigenvalues();
    all.erase(std::min_element(all.begin(), all.end(), [](double a, double b) {
        return std::abs(a - 1) < std::abs(b - 1);
    }));
    values.assign(all.begin(), all.end());
    return values;
}

/// Removes duplicates among the eigenvalues of a static W, and one of each conjugate pair.
void drop_doubles(std::vector<Complex>& values) {
    for (Complex& value : values) value = {value.real(), std::abs(value.imag())};
    const auto key = [](Complex v) { return std::pair(v.real(), v.imag()); };
    std::sort(values.begin(), values.end(), [&](Complex a, Complex b) { return key(a) < key(b); });
    const auto close = [](Complex a, Complex b) { return std::abs(a - b) < 1e-13; };
    values.erase(std::unique(values.begin(), values.end(), close), values.end());
}

std::optional<Period> by_eigenvalues(const graphs::Schedule& graph) {
    const int64_t period = graph.period();
    if (period == 0 || period * graph.size() > kMostEigenvalues * 16) return std::nullopt;
    std::vector<std::vector<Complex>> rounds;
    std::optional<graphs::Spectrum::Basis> basis;
    bool real = true;
    for (int64_t t = 0; t < period; ++t) {
        rounds.push_back(eigenvalues(graph, t, basis));
        if (rounds.back().empty()) return std::nullopt;
        if (period == 1) drop_doubles(rounds.back());
        for (const Complex value : rounds.back()) real = real && std::abs(value.imag()) < 1e-15;
    }
    const auto count = static_cast<Eigen::Index>(rounds.front().size());
    if (count > kMostEigenvalues) return std::nullopt;
    Period out{{}, real ? 1 : 2};
    for (const auto& values : rounds) {
        std::vector<Eigen::Triplet<double>> entries;
        for (Eigen::Index k = 0; k < count; ++k) {
            const Complex value = values[static_cast<size_t>(k)];
            const Eigen::Index at = k * out.block;
            for (Eigen::Index d = 0; d < out.block; ++d) {
                entries.emplace_back(at + d, at + d, value.real());
            }
            if (real) continue;
            entries.emplace_back(at, at + 1, -value.imag());
            entries.emplace_back(at + 1, at, value.imag());
        }
        Weights w(count * out.block, count * out.block);
        w.setFromTriplets(entries.begin(), entries.end());
        out.rounds.push_back(std::move(w));
    }
    return out;
}

std::optional<Period> by_replicas(const graphs::Schedule& graph, size_t matrices, int64_t cycle) {
    const auto rows = static_cast<double>(graph.size()) * static_cast<double>(matrices);
    const auto steps = static_cast<double>(cycle) * static_cast<double>(graph.period());
    if (graph.period() == 0 || rows > kDense || steps * rows * rows * 8 > kWork) {
        return std::nullopt;
    }
    Period out{{}, graph.size()};
    for (int64_t t = 0; t < graph.period(); ++t) {
        out.rounds.push_back(weights_of(graph, graph.at(t)));
    }
    return out;
}

void take_mean_off(Recursion& recursion) {
    for (size_t k = 0; k < recursion.matrices(); ++k) {
        Matrix& matrix = recursion.matrix(k);
        matrix.rowwise() -= Eigen::RowVectorXd(matrix.colwise().mean());
    }
}

/// Divides all matrices by their common norm and returns its logarithm; -infinity if the norm is 0.
double normalise(Recursion& recursion) {
    double square = 0;
    for (size_t k = 0; k < recursion.matrices(); ++k) square += recursion.matrix(k).squaredNorm();
    const double norm = std::sqrt(square);
    if (norm < 1e-200) return -std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < recursion.matrices(); ++k) recursion.matrix(k) /= norm;
    return std::log(norm);
}

/// Returns the spectral radius, per iteration, of `steps` iterations. For each block, the matrix
/// that they apply to x and the rows is built from unit vectors. If the only block is W itself, the
/// mean is subtracted.
std::optional<double> radius(const base::Json& algorithm, const Period& period, size_t matrices,
                             int64_t steps, const Weights& mean, bool is_w) {
    const Eigen::Index size = period.rounds.front().rows(), block = period.block;
    const Eigen::Index width = block * static_cast<Eigen::Index>(matrices);
    const auto w = [&](int64_t k) {
        return period.rounds[static_cast<size_t>(k) % period.rounds.size()];
    };
    Recursion recursion(recursion_of(algorithm, size, width), w, mean, width);
    for (size_t k = 0; k < matrices; ++k) {
        Matrix& matrix = recursion.matrix(k);
        matrix.setZero(size, width);
        for (Eigen::Index i = 0; i < size; ++i) {
            matrix(i, static_cast<Eigen::Index>(k) * block + i % block) = 1;
        }
    }
    double scale = 0;
    for (int64_t t = 0; t < steps; ++t) {
        if (is_w) take_mean_off(recursion);
        if (t % 32 == 31) scale += normalise(recursion);
        recursion.step();
    }
    if (is_w) take_mean_off(recursion);
    scale += normalise(recursion);
    if (std::isinf(scale)) return 0.0;
    double largest = 0;
    for (Eigen::Index first = 0; first < size; first += block) {
        Matrix m(width, width);
        for (size_t k = 0; k < matrices; ++k) {
            m.middleRows(static_cast<Eigen::Index>(k) * block, block) =
                recursion.matrix(k).middleRows(first, block);
        }
        const auto values = graphs::eigenvalues(m);
        if (!values) return std::nullopt;
        largest = std::max(largest, values->cwiseAbs().maxCoeff());
    }
    return std::exp((std::log(largest) + scale) / static_cast<double>(steps));
}

Weights nothing(Eigen::Index size) { return {size, size}; }

/// Returns the growth of the replicas' common value, for which W and J/n are 1.
double of_the_mean(const base::Json& algorithm, size_t matrices, int64_t cycle) {
    Weights one(1, 1);
    one.insert(0, 0) = 1;
    return radius(algorithm, {{one}, 1}, matrices, cycle, one, false).value_or(1);
}

/// Returns the growth from random deviations over `rounds` consecutive rounds, without the first
/// quarter.
double sampled(const base::Json& algorithm, const graphs::Schedule& graph, int64_t rounds) {
    const Eigen::Index n = graph.size();
    Recursion recursion(
        recursion_of(algorithm, n, kColumns),
        [&](int64_t k) { return weights_of(graph, graph.at(k)); }, nothing(n), kColumns);
    auto random = base::random_stream(0, base::ProbeStream::stability);
    for (size_t k = 0; k < recursion.matrices(); ++k) {
        recursion.matrix(k) = Matrix::NullaryExpr(n, kColumns, [&] { return random.normal(); });
    }
    double grown = 0;
    for (int64_t t = 0; t < rounds; ++t) {
        take_mean_off(recursion);
        const double step = normalise(recursion);
        if (std::isinf(step)) return 0;
        if (t > rounds / 4) grown += step;
        recursion.step();
    }
    take_mean_off(recursion);
    grown += normalise(recursion);
    return std::exp(grown / static_cast<double>(rounds - rounds / 4));
}

}  // namespace

std::optional<bool> Growth::stable() const {
    const bool sound = mean <= 1 + 1e-4;
    if (!disagreement) return sound ? std::nullopt : std::optional(false);
    return sound && *disagreement <= 1 + tolerance;
}

Growth growth(const base::Json& algorithm, const graphs::Schedule& graph) {
    if (const graphs::StagedSchedule* staged = graph.staged()) {
        Growth worst;
        for (size_t k = 0; k < staged->graphs(); ++k) {
            Growth one = growth(algorithm, staged->graph(k));
            one.graph = staged->name(k);
            const double before = worst.disagreement.value_or(-1);
            if (k == 0 || one.disagreement.value_or(-1) > before) worst = one;
        }
        return worst;
    }
    Growth out;
    out.per_exchange = only_local_steps_between_exchanges(algorithm);
    auto probe = recursion_of(algorithm, 1, 1);
    if (!probe) {
        out.by = "not computed: there is no reference of this algorithm";
        return out;
    }
    if (const std::string reason = probe->not_linear(); !reason.empty()) {
        out.by = "not computed: it " + reason;
        return out;
    }
    const int64_t cycle = probe->cycle();
    const bool distinguishes_replicas = probe->distinguishes_replicas();
    Weights one(1, 1);
    one.insert(0, 0) = 1;
    const size_t matrices = Recursion(
                                std::move(probe), [&](int64_t) { return one; }, one, 1)
                                .matrices();
    out.mean = of_the_mean(algorithm, matrices, cycle);
    if (graph.size() == 1) {
        out.disagreement = 0;
        out.by = "one replica";
        return out;
    }
    const int64_t period = graph.period();
    if (!distinguishes_replicas) {
        if (const auto blocks = by_eigenvalues(graph)) {
            const Eigen::Index size = blocks->rounds.front().rows();
            out.disagreement =
                radius(algorithm, *blocks, matrices, cycle * period, nothing(size), false);
            out.tolerance = kEigenvalues;
            out.by = "eigenvalues of W";
        }
    }
    if (!out.disagreement) {
        if (const auto whole = by_replicas(graph, matrices, cycle)) {
            out.disagreement =
                radius(algorithm, *whole, matrices, cycle * period, nothing(graph.size()), true);
            out.tolerance = kEigenvalues;
            out.by = period == 1 ? "eigenvalues" : "the product over one period";
        }
    }
    if (!out.disagreement) {
        const int64_t rounds = std::min(kRounds, kSampledRows / graph.size());
        if (rounds < kFewest) {
            out.by = "not computed: replicas are too many for a sample of rounds";
            return out;
        }
        out.disagreement = sampled(algorithm, graph, rounds);
        out.tolerance = kSampled;
        out.by = "a sample of " + std::to_string(rounds) + " rounds";
    }
    return out;
}

base::Json to_json(const Growth& growth) {
    base::Json out;
    const auto stable = growth.stable();
    out["growth"] = growth.disagreement ? base::Json(*growth.disagreement) : base::Json(nullptr);
    out["stable"] = stable ? base::Json(*stable) : base::Json(nullptr);
    out["growth_per"] = growth.per_exchange ? "exchange" : "iteration";
    out["growth_of_mean"] = growth.mean;
    out["growth_by"] = growth.by;
    if (!growth.graph.empty()) out["growth_on"] = growth.graph;
    return out;
}

std::string to_text(const Growth& growth) {
    if (!growth.disagreement) return growth.by;
    std::ostringstream out;
    out << std::setprecision(6) << *growth.disagreement << " an "
        << (growth.per_exchange ? "exchange" : "iteration")
        << (growth.stable().value_or(true) ? "" : ", UNSTABLE") << " (by " << growth.by;
    if (!growth.graph.empty()) out << ", " << growth.graph;
    out << ")";
    return out.str();
}

}  // namespace dbench::conform
