#pragma once
// What a subject is tried on: its training, a graph that suits it, rates; and how two results are
// compared. Internal to this room.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conform/conform.hpp"
#include "conform/reference.hpp"
#include "conform/trainee.hpp"

namespace dbench::conform {

inline constexpr double kLr = 0.05;
inline constexpr int64_t kPerEpoch = 5;  ///< iterations of an epoch

/// Of numbers that a record holds: the largest difference, relative as in `difference`.
double difference(const Record& a, const Record& b);

/// Iterations that are compared: over MPI each of them is gathered from all ranks.
int64_t compared(const comm::World& world);

/// Rates that change from step to step, so that none can be mistaken for another.
double moving_rate(int64_t t);
std::function<double(int64_t)> constant_rate(double lr);

/// Runs away: past it, rounding errors are all that two computations differ by.
bool diverges(const Matrix& x);
/// The largest difference, relative to the larger of 1 and the largest element of b.
double difference(const Matrix& a, const Matrix& b);

base::Json resolved_optimizer(const Subject& subject);
base::Json resolved_algorithm(const base::Json& algorithm, const algorithms::AlgorithmEntry& row);
bool plain_sgd(const base::Json& optimizer);  ///< of a resolved one
Training training_of(const Subject& subject, const base::Json& graph, int64_t replicas,
                     int64_t iterations);

std::unique_ptr<graphs::Schedule> graph_of(const base::Json& graph, int64_t replicas,
                                           int64_t iterations);
/// Empty where the graph suits, and so many ranks do; else why not.
std::string unsuitable(const algorithms::Accepts& accepts, const base::Json& graph,
                       int64_t replicas, int ranks = 1);
/// The graph asked for, or the nearest one of its kind that the algorithm takes.
base::Json suitable_graph(const algorithms::Accepts& accepts, const base::Json& asked,
                          int64_t replicas);

/// A graph whose columns sum to 1, and whose rows do not.
base::Json unlike_graph();

/// Graphs that change, on which the subject is compared beside its own: a sequence, one with
/// rounds in which few or no replicas exchange, a list. Of each kind the first on which it is
/// stable; none of these where it takes static graphs only. For push-sum one whose rows do not sum
/// to 1.
std::vector<base::Json> other_graphs(const Subject& subject, int64_t replicas);

/// Type, then key=value of the rest.
std::string words(const base::Json& object);

}  // namespace dbench::conform
