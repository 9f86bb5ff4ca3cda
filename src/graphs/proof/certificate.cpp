#include "graphs/proof/certificate.hpp"

#include <algorithm>
#include <cmath>

#include "graphs/matrix/matrix.hpp"
#include "graphs/matrix/sparse.hpp"
#include "graphs/matrix/spectral.hpp"
#include "graphs/proof/measures.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kCertificateSample = 64;  // most examined rounds of a sequence that never repeats
constexpr int64_t kFewer = 8;               // fewest examined rounds of such a sequence
constexpr int64_t kSampledRows = 1 << 20;   // most rows of all examined rounds (or kFewer)
constexpr double kCertificateSumTolerance = 1e-12;
constexpr double kManyLinks =
    1 << 24;  // with more links, a transitive matrix is judged by replica 0

// Presents a schedule without matrices as a matrix, through its rows.
class RowsOnly final : public Matrix {
public:
    RowsOnly(const Schedule& schedule, Round round) : schedule_(schedule), round_(round) {}
    int size() const override { return schedule_.size(); }
    std::vector<Link> in(int i) const override { return schedule_.in(round_, i); }
    std::vector<Link> out(int i) const override { return schedule_.out(round_, i); }

private:
    const Schedule& schedule_;
    Round round_;
};

MatrixPtr matrix_of(const Schedule& schedule, Round round) {
    if (auto matrix = schedule.matrix(round)) return matrix;
    return std::make_shared<RowsOnly>(schedule, round);
}

// True if a period is short enough to examine every round.
bool whole_period(const Schedule& schedule) {
    const auto period = static_cast<double>(schedule.period());
    return period > 0 && (period == 1 || period * schedule.size() <= kManyLinks);
}

// Returns the matrices to examine: one period, all matrices that can be drawn, or a sample.
std::vector<MatrixPtr> matrices_of(const Schedule& schedule) {
    std::vector<MatrixPtr> matrices;
    if (schedule.period() == 0) {
        for (const Round round : schedule.rounds()) matrices.push_back(matrix_of(schedule, round));
        if (!matrices.empty()) return matrices;
    }
    const int64_t sample = std::clamp(kSampledRows / schedule.size(), kFewer, kCertificateSample);
    const int64_t length = whole_period(schedule) ? schedule.period() : sample;
    for (int64_t t = 0; t < length; ++t) {
        matrices.push_back(matrix_of(schedule, schedule.at(t)));
    }
    return matrices;
}

// True if all replicas are reached from replica 0 along the links of all matrices, forwards or
// backwards.
bool reaches_all(const std::vector<MatrixPtr>& matrices, bool forwards) {
    const int n = matrices.front()->size();
    std::vector<bool> seen(n, false);
    std::vector<int> waiting = {0};
    seen[0] = true;
    int count = 1;
    while (!waiting.empty() && count < n) {
        const int i = waiting.back();
        waiting.pop_back();
        for (const MatrixPtr& matrix : matrices) {
            for (const Link& link : forwards ? matrix->out(i) : matrix->in(i)) {
                if (seen[link.peer] || link.weight == 0) continue;
                seen[link.peer] = true;
                waiting.push_back(link.peer);
                ++count;
            }
        }
    }
    return count == n;
}

double sum(const std::vector<Link>& links) {
    double total = 0;
    for (const Link& link : links) total += link.weight;
    return total;
}

// Fills in sums, signs, symmetry and degrees of all matrices.
void look_at_links(const std::vector<MatrixPtr>& matrices, Certificate& c) {
    double degrees = 0;
    double looked = 0;
    c.row_stochastic = c.column_stochastic = c.symmetric = c.nonnegative = true;
    c.degree_min = c.n;
    for (const MatrixPtr& matrix : matrices) {
        const double links = static_cast<double>(matrix->in(0).size()) * c.n;
        const int rows = matrix->transitive() && links > kManyLinks ? 1 : c.n;
        for (int i = 0; i < rows; ++i) {
            const auto row = matrix->in(i);
            const auto column = matrix->out(i);
            c.row_stochastic &= std::abs(sum(row) - 1) <= kCertificateSumTolerance;
            c.column_stochastic &= std::abs(sum(column) - 1) <= kCertificateSumTolerance;
            c.symmetric &=
                std::equal(row.begin(), row.end(), column.begin(), column.end(),
                           [](const Link& a, const Link& b) {
                               return a.peer == b.peer && std::abs(a.weight - b.weight) <= 1e-15;
                           });
            for (const Link& link : row) c.nonnegative &= link.weight >= 0;
            const double degree = static_cast<double>(column.size()) - 1;
            c.degree_min = std::min(c.degree_min, degree);
            c.degree_max = std::max(c.degree_max, degree);
            degrees += degree;
            ++looked;
        }
    }
    c.degree_mean = degrees / looked;
}

std::optional<double> rate_of(const Certificate& c) {
    if (c.rho_expected) return c.rho_expected;
    if (!c.rho_period || !c.period) return std::nullopt;
    return std::pow(*c.rho_period, 1.0 / static_cast<double>(*c.period));
}

std::optional<int64_t> rounds_to_1e3(const Certificate& c) {
    if (c.finite_time && *c.finite_time <= 1) return 1;
    if (!c.rate || *c.rate >= 1) return std::nullopt;
    if (*c.rate <= 0) return c.finite_time;
    // For a static matrix, gap has more digits than rho.
    const double log_rate = c.period == 1 && c.gap ? std::log1p(-*c.gap) : std::log(*c.rate);
    const double rounds = std::ceil(std::log(1e3) / -log_rate - 1e-9);
    if (rounds > 9e15) return std::nullopt;
    const auto wanted = static_cast<int64_t>(rounds);
    return c.finite_time ? std::min(wanted, *c.finite_time) : wanted;
}

// Counts the messages of a replica; groups are carried out as all-reduces.
void count_messages(const std::vector<MatrixPtr>& matrices, Certificate& c) {
    double messages = 0;
    double models = 0;
    for (const MatrixPtr& matrix : matrices) {
        const auto& groups = matrix->groups();
        std::vector<bool> grouped(c.n, false);
        for (const auto& group : groups) {
            const auto m = static_cast<double>(group.size());
            messages += 2 * (m - 1) * m;
            models += 2 * (m - 1);
            for (const int i : group) grouped[i] = true;
        }
        const bool alike = matrix->transitive() && groups.empty();
        for (int i = 0; i < (alike ? 1 : c.n); ++i) {
            if (grouped[i]) continue;
            const double degree = static_cast<double>(matrix->out(i).size()) - 1;
            messages += alike ? degree * c.n : degree;
            models += alike ? degree * c.n : degree;
        }
    }
    const double all = static_cast<double>(matrices.size()) * c.n;
    c.messages = messages / all;
    c.models_sent = models / all;
}

void find_stationary(const std::vector<MatrixPtr>& period, Certificate& c) {
    if (c.row_stochastic && c.column_stochastic) {
        c.stationary_min = c.stationary_max = 1;
    } else if (c.row_stochastic || c.column_stochastic) {
        if (const auto weights = stationary(period, c.row_stochastic)) {
            const auto [least, most] = std::minmax_element(weights->begin(), weights->end());
            c.stationary_min = *least;
            c.stationary_max = *most;
        }
    }
}

}  // namespace

Certificate certify(const Schedule& schedule, const std::string& type, double gamma) {
    if (const StagedSchedule* staged = schedule.staged()) {
        const size_t graph = staged->stages().front().graph;
        return certify(staged->graph(graph), staged->name(graph), gamma);
    }
    Certificate c;
    c.type = type;
    c.n = schedule.size();
    const auto matrices = matrices_of(schedule);
    const auto first = matrix_of(schedule, schedule.at(0));
    c.connected = reaches_all(matrices, true) && reaches_all(matrices, false);
    look_at_links(matrices, c);
    if (const auto mixing = contraction(first)) {
        // Averaging with nonnegative weights of sum 1 expands nothing, so a value beyond 1 is
        // rounding of the solver.
        const bool averages = c.row_stochastic && c.column_stochastic && c.nonnegative;
        c.rho = averages ? std::min(mixing->rho, 1.0) : mixing->rho;
        c.gap = averages ? std::max(mixing->gap, 0.0) : mixing->gap;
    }
    c.lambda_min = lambda_min(first);
    if (schedule.period() > 0) c.period = schedule.period();
    if (whole_period(schedule)) {
        // Try twice the period: a sequence may become exact in its second pass. A static matrix may
        // be nilpotent apart from J/n (de Bruijn graphs), so it also gets some rounds.
        c.finite_time = finite_time(matrices, std::max<int64_t>(2 * *c.period, 32));
        if (c.finite_time && *c.finite_time <= *c.period) {
            c.rho_period = 0.0;
        } else if (*c.period == 1) {
            c.rho_period = c.rho;
        } else if (const auto product = contraction(matrices); product && product->rho > 0) {
            c.rho_period = product->rho;  // 0: it is smaller than all numbers
        }
    } else if (schedule.rho_expected() >= 0) {
        c.rho_expected = schedule.rho_expected();
        // A sample of rounds need not connect all replicas, but what contracts in expectation does.
        c.connected |= *c.rho_expected < 1 - 1e-12;
    }
    c.rate = rate_of(c);
    c.iterations_to_1e3 = rounds_to_1e3(c);
    c.gamma = gamma;
    c.effective_neighbours = effective_neighbours(first, gamma);
    if (schedule.period() == 1) c.disagreement = disagreement(first);
    if (whole_period(schedule) || (c.row_stochastic && c.column_stochastic)) {
        find_stationary(matrices, c);
    }
    count_messages(matrices, c);
    return c;
}

Sums sums(const Schedule& schedule) {
    Certificate c;
    c.n = schedule.size();
    look_at_links(matrices_of(schedule), c);
    return {c.row_stochastic, c.column_stochastic};
}

Symmetry symmetry(const Schedule& schedule) {
    Symmetry all{true, 1.0};
    for (const MatrixPtr& matrix : matrices_of(schedule)) {
        if (!is_symmetric(*matrix)) return {false, 1.0};
        all.lambda_min = std::min(all.lambda_min, lambda_min(matrix).value_or(-1.0));
    }
    return all;
}

bool is_undirected(const Schedule& schedule) {
    for (const MatrixPtr& matrix : matrices_of(schedule)) {
        for (int i = 0; i < matrix->size(); ++i) {
            const auto row = matrix->in(i);
            const auto column = matrix->out(i);
            if (!std::equal(row.begin(), row.end(), column.begin(), column.end(),
                            [](const Link& a, const Link& b) { return a.peer == b.peer; })) {
                return false;
            }
        }
    }
    return true;
}

bool is_tree(const Schedule& schedule) {
    if (schedule.staged() || !whole_period(schedule)) return false;
    return std::ranges::all_of(matrices_of(schedule), [&](const MatrixPtr& matrix) {
        Certificate c;
        c.n = schedule.size();
        look_at_links({matrix}, c);
        return c.symmetric && reaches_all({matrix}, true) &&
               std::llround(c.degree_mean * c.n) == 2 * (c.n - 1);
    });
}

std::optional<double> round_rho(const Schedule& schedule, Round round) {
    const auto mixing = contraction(matrix_of(schedule, round));
    return mixing ? std::optional<double>(mixing->rho) : std::nullopt;
}

}  // namespace dbench::graphs
