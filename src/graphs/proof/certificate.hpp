#pragma once
// The proof attached to a graph: what its mixing matrices are and how fast they mix.

#include <optional>

#include "base/json.hpp"
#include "graphs/schedule.hpp"

namespace dbench::graphs {

/// Fields as `dbench graph --json` prints them (docs/graphs.md). What cannot be resolved
/// numerically is empty, never a wrong number.
struct Certificate {
    std::string type;
    int n = 0;
    bool connected = false;  ///< strongly; of the union over one period for a sequence
    bool row_stochastic = false;
    bool column_stochastic = false;
    bool symmetric = false;
    bool nonnegative = false;
    double degree_min = 0, degree_mean = 0, degree_max = 0;  ///< out-degree without self
    std::optional<double> rho;                               ///< ||W_0 - J/n||_2
    std::optional<double> gap;                               ///< 1 - rho
    std::optional<double> lambda_min;  ///< smallest eigenvalue of a symmetric W_0
    std::optional<int64_t> period;
    std::optional<double> rho_period;          ///< of the product over one period
    std::optional<int64_t> finite_time;        ///< rounds until the product is within 1e-12 of J/n
    std::optional<double> rho_expected;        ///< random sequences: sqrt(||E[W'W] - J/n||)
    std::optional<int64_t> iterations_to_1e3;  ///< iterations to reduce disagreement by 1e3
    /// Contraction per round in the long run: rho_period^(1/period), or rho_expected.
    std::optional<double> rate;
    double gamma = 0;                            ///< at which effective_neighbours is given
    std::optional<double> effective_neighbours;  ///< n_W(gamma) of W_0
    /// Smallest and largest n pi_i, pi the weights of the mean that all end at (row stochastic
    /// only) or of push-sum (column stochastic only); 1 and 1 where doubly stochastic.
    std::optional<double> stationary_min, stationary_max;
    /// Per replica and iteration, in the mean over rounds: messages sent, and models sent (bytes
    /// over a model's bytes); an all-reduce of m counts 2 (m-1) messages and 2 (m-1)/m models.
    double messages = 0, models_sent = 0;
};

/// Of a schedule that goes from graph to graph: of its first graph, by that one's name. Else looks
/// at one period (at a sample of rounds where that is very long or there is none). Dense solvers up
/// to n = 1536, closed forms and Lanczos beyond. 0 <= gamma < 1.
Certificate certify(const Schedule& schedule, const std::string& type, double gamma = 0.951);

/// Whether rows and columns of all rounds looked at sum to 1 to 1e-12.
struct Sums {
    bool rows, columns;
};
Sums sums(const Schedule& schedule);

/// Whether all rounds looked at are symmetric, and the smallest of their eigenvalues (1 where
/// they are not symmetric).
struct Symmetry {
    bool symmetric;
    double lambda_min;
};
Symmetry symmetry(const Schedule& schedule);

/// Whether a static graph's links, taken without direction, connect all replicas without a circle.
bool is_tree(const Schedule& schedule);

base::Json to_json(const Certificate& certificate);

/// A table for a terminal.
std::string to_text(const Certificate& certificate);

/// rho of one round's matrix, for the result file's /graphs/rho; empty where it cannot be resolved.
std::optional<double> round_rho(const Schedule& schedule, Round round);

}  // namespace dbench::graphs
