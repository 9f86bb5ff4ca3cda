#pragma once
// The production code of an algorithm on a problem with known gradients: arena, exchange,
// optimizer and algorithm as in a run, on any number of ranks.

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

struct Training {
    base::Json algorithm, optimizer, graph;  ///< resolved
    int64_t replicas = 8;
    int64_t iterations = 0;
    int64_t per_epoch = 1;
    std::function<double(int64_t)> lr;
    double noise = 0;  ///< deviation of every gradient element
    uint64_t seed = 1;
    arena::DType type = arena::DType::float64;
    bool same_start = false;        ///< all replicas start where replica 0 does
    bool profiled = false;          ///< every iteration is recorded
    std::vector<int64_t> who = {};  ///< replica i has the data, the start and the place in the
                                    ///< graph of replica who[i]; empty: its own
    const algorithms::OptimizerEntry* optimizer_row = nullptr;  ///< null: that of the table
    base::Json message = "float32";                             ///< as a spec has it
    arena::Codec codec = arena::Codec::identity;                ///< how rows travel
    int64_t span = 1;  ///< iterations of a step, of asynchronous algorithms
};

/// Two tensors: weights, a matrix of three rows where their number admits that, and the biases.
arena::Layout layout_of(int64_t parameters);

/// What the last iteration recorded, of all replicas.
struct Record {
    Matrix norm;                  ///< [n, T] just before averaging
    Eigen::VectorXd update_norm;  ///< [n]
    Eigen::VectorXd variance;     ///< [T] just before averaging
    double bytes = 0;
    Matrix staleness;  ///< [iterations of the step, n], of asynchronous algorithms
};

/// The same, computed from what a reference tells. Rows of numbers of `bytes` each.
Record record_of(const Recorded& recorded, double bytes);

class Trainee {
public:
    /// Replicas start at random points of their own. Collective. Throws UserError where the graph
    /// does not suit.
    Trainee(comm::World& world, const Problem& problem, const Training& training,
            const algorithms::AlgorithmEntry& row);
    ~Trainee();

    void step();                       ///< the next iteration, or span of them; collective
    Eigen::MatrixXd parameters();      ///< [n, P] of all replicas, on all ranks; collective
    Eigen::MatrixXd last_gradients();  ///< as drawn in the last iteration; collective
    Record last_record();              ///< where training is profiled; empty where the algorithm
                                       ///< was not measured; collective
    /// Rows of the state table by name, [n, P]; 0 x 0 where there are none of that name.
    /// Collective.
    Eigen::MatrixXd state(const std::string& name);
    /// The number of each replica [n] that the state table has by this name; collective.
    Eigen::VectorXd numbers(const std::string& name);

    /// Everything in the state table of this rank, and back into a fresh copy at iteration t.
    std::vector<std::string> save() const;
    void restore(const std::vector<std::string>& saved, int64_t t);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::conform
