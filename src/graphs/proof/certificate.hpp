#pragma once
// The certificate of a graph: properties of its mixing matrices and how fast they mix.

#include <optional>

#include "base/json.hpp"
#include "graphs/proof/measures.hpp"
#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// The fields that `dbench graph --json` prints (docs/graphs.md). A value that cannot be resolved
/// numerically is empty, never a wrong number.
struct Certificate {
    std::string type;
    int n = 0;
    bool connected = false;  ///< Strongly connected; for a sequence, the union over one period.
    bool row_stochastic = false;
    bool column_stochastic = false;
    bool symmetric = false;
    bool nonnegative = false;
    double degree_min = 0, degree_mean = 0, degree_max = 0;  ///< Out-degree without self.
    std::optional<double> rho;                               ///< ||W_0 - J/n||_2
    std::optional<double> gap;                               ///< 1 - rho
    std::optional<double> lambda_min;  ///< Smallest eigenvalue of a symmetric W_0.
    std::optional<int64_t> period;
    std::optional<double> rho_period;          ///< rho of the product over one period.
    std::optional<int64_t> finite_time;        ///< Rounds until the product is within 1e-12 of J/n.
    std::optional<double> rho_expected;        ///< Random sequences: sqrt(||E[W'W] - J/n||).
    std::optional<int64_t> iterations_to_1e3;  ///< Iterations that reduce disagreement by 1e3.
    /// Contraction per round in the long run: rho_period^(1/period), or rho_expected.
    std::optional<double> rate;
    double gamma = 0;  ///< The gamma at which effective_neighbours is computed.
    std::optional<double> effective_neighbours;  ///< n_W(gamma) of W_0.
    /// How far replicas stay apart on W_0; without a value if the graph is a sequence.
    Disagreement disagreement;
    /// Smallest and largest n pi_i. pi are the weights of the mean to which all replicas converge
    /// (if only row stochastic) or those of push-sum (if only column stochastic). Both are 1 if
    /// doubly stochastic.
    std::optional<double> stationary_min, stationary_max;
    /// Per replica and iteration, averaged over rounds: messages sent, and models sent (bytes
    /// divided by a model's bytes). An all-reduce of m counts as 2 (m-1) messages and 2 (m-1)/m
    /// models.
    double messages = 0, models_sent = 0;
};

/// Computes the certificate of `schedule`. A StagedSchedule is certified by its first graph, under
/// that graph's name. Otherwise it covers one period, or a sample of rounds if the period is very
/// long or there is none. Uses dense solvers up to n = 1536, closed forms and Lanczos beyond.
/// Requires 0 <= gamma < 1.
Certificate certify(const Schedule& schedule, const std::string& type, double gamma = 0.951);

/// True if the rows (columns) of all examined rounds sum to 1, to 1e-12.
struct Sums {
    bool rows, columns;
};
Sums sums(const Schedule& schedule);

/// True if all examined rounds are symmetric, and then the smallest of their eigenvalues (otherwise
/// 1).
struct Symmetry {
    bool symmetric;
    double lambda_min;
};
Symmetry symmetry(const Schedule& schedule);

/// True if every link of the examined rounds has a link in the other direction, of any weight.
bool is_undirected(const Schedule& schedule);

/// Returns true if the links of each round, ignoring direction, connect all replicas without a
/// cycle. Only static graphs and sequences that repeat have this property.
bool is_tree(const Schedule& schedule);

base::Json to_json(const Certificate& certificate);

/// Returns the certificate as a table for a terminal.
std::string to_text(const Certificate& certificate);

/// Returns rho of one round's matrix, for the result file's /graphs/rho; empty if it cannot be
/// resolved.
std::optional<double> round_rho(const Schedule& schedule, Round round);

}  // namespace dbench::graphs
