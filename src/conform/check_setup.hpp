#pragma once
// Setup of a conformance check: training settings, a suitable graph, learning rates, and the
// comparison of results. Internal to this module.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conform/conform.hpp"
#include "conform/production_run.hpp"
#include "conform/reference.hpp"

namespace dbench::conform {

inline constexpr double kLr = 0.05;
inline constexpr int64_t kPerEpoch = 5;  ///< Iterations of an epoch.

/// Returns the largest relative difference of the numbers of two records, relative as for matrices.
double difference(const Record& a, const Record& b);

/// Returns the number of iterations to compare. It is smaller over MPI, where each iteration is
/// gathered from all ranks.
int64_t iterations_to_compare(const comm::World& world);

/// Returns a rate that differs from step to step, so that a wrong iteration index is noticed.
double varying_rate(int64_t t);
std::function<double(int64_t)> constant_rate(double lr);

/// True if x is so large that two computations differ only by rounding errors.
bool diverges(const Matrix& x);
/// Returns the largest difference, relative to the larger of 1 and the largest element of b.
double difference(const Matrix& a, const Matrix& b);

base::Json resolved_optimizer(const ConformanceCase& tested);
base::Json resolved_algorithm(const base::Json& algorithm, const algorithms::AlgorithmEntry& row);
bool plain_sgd(const base::Json& optimizer);  ///< Argument is resolved.
TrainingSettings training_of(const ConformanceCase& tested, const base::Json& graph,
                             int64_t replicas, int64_t iterations);

std::unique_ptr<graphs::Schedule> graph_of(const base::Json& graph, int64_t replicas,
                                           int64_t iterations);
/// Returns the reason why the graph or the number of ranks does not suit the algorithm; empty if
/// both do.
std::string unsuitable_reason(const algorithms::AlgorithmEntry& row, const base::Json& graph,
                              int64_t replicas, int ranks = 1);
/// Returns the requested graph, or the nearest graph of its kind that the algorithm accepts.
base::Json suitable_graph(const algorithms::AlgorithmEntry& row, const base::Json& asked,
                          int64_t replicas);

/// Returns a graph whose columns sum to 1 and whose rows do not.
base::Json column_stochastic_graph();

/// Returns changing graphs on which the case is compared in addition to its own graph: a sequence,
/// one with rounds in which few or no replicas exchange, and a list. Of each kind it returns the
/// first on which the case is stable. It returns none of these if the algorithm accepts static
/// graphs only. Push-sum also gets a graph whose rows do not sum to 1.
std::vector<base::Json> other_graphs(const ConformanceCase& tested, int64_t replicas);

/// Returns the type, then key=value of the other keys.
std::string spec_label(const base::Json& object);

}  // namespace dbench::conform
