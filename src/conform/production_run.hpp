#pragma once
// Runs the production code of an algorithm on a problem with known gradients: arena, exchange,
// optimizer and algorithm as in a real run, on any number of ranks.

#include <Eigen/Core>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "algorithms/algorithm.hpp"
#include "base/json.hpp"
#include "comm/world/world.hpp"
#include "conform/problem.hpp"
#include "conform/reference.hpp"

namespace dbench::conform {

/// Settings of a ProductionRun.
struct TrainingSettings {
    base::Json algorithm, optimizer, graph;  ///< Resolved.
    int64_t replicas = 8;
    int64_t iterations = 0;
    int64_t per_epoch = 1;
    std::function<double(int64_t)> lr;
    double noise = 0;  ///< Standard deviation of the noise of every gradient element.
    uint64_t seed = 1;
    arena::DType type = arena::DType::float64;
    bool same_start = false;                ///< All replicas start where replica 0 starts.
    bool profiled = false;                  ///< Record every iteration.
    std::vector<int64_t> relabelling = {};  ///< Replica i has the data, start and place in the
                                            ///< graph of replica relabelling[i]; empty: its own.
    /// The optimizer to use; null: the row of the optimizer table.
    const algorithms::OptimizerEntry* optimizer_row = nullptr;
    base::Json message = "float32";                             ///< The spec's key `message`.
    arena::ElementCodec codec = arena::ElementCodec::identity;  ///< Format in which rows are sent.
    int64_t span = 1;  ///< Iterations of a step, for asynchronous algorithms.
};

/// Returns a layout of two tensors: the weights, as a matrix of three rows if their number is
/// divisible by three, and the biases.
arena::Layout layout_of(int64_t parameters);

/// The values recorded in the last iteration, of all replicas.
struct Record {
    Matrix norm;                  ///< [n, T] just before averaging.
    Eigen::VectorXd update_norm;  ///< [n]
    Eigen::VectorXd variance;     ///< [T] just before averaging.
    double bytes = 0;
    Matrix staleness;  ///< [iterations of the step, n], for asynchronous algorithms.
};

/// Computes the same values from what a reference recorded, for rows of numbers of `bytes` bytes
/// each.
Record record_of(const RecordedIteration& recorded, double bytes);

/// A training run of the production code without models, data sets or files.
class ProductionRun {
public:
    /// Replicas start at random points, one per replica. Collective. Throws UserError if the graph
    /// does not suit the algorithm.
    ProductionRun(comm::World& world, const Problem& problem, const TrainingSettings& training,
                  const algorithms::AlgorithmEntry& row);
    ~ProductionRun();

    void step();  ///< Performs the next iteration, or the next span of iterations. Collective.
    Eigen::MatrixXd parameters();  ///< Returns [n, P] of all replicas, on all ranks. Collective.
    Eigen::MatrixXd last_gradients();  ///< Returns those drawn in the last iteration. Collective.
    Record last_record();  ///< Returns the last record. Requires `profiled`; empty if the algorithm
                           ///< was not measured. Collective.
    /// Returns the rows of the state table with this name, [n, P]; 0 x 0 if there are none.
    /// Collective.
    Eigen::MatrixXd state(const std::string& name);
    /// Returns the number per replica, [n], that the state table holds under this name. Collective.
    Eigen::VectorXd numbers(const std::string& name);

    /// Returns the content of this rank's state table; `restore` loads it into a new run at
    /// iteration t.
    std::vector<std::string> save() const;
    void restore(const std::vector<std::string>& saved, int64_t t);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::conform
