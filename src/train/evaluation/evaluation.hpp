#pragma once
// Loss, accuracy and further metrics of local models and of the averaged model on whole sets.
// Changes nothing that training reads.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/step/observer.hpp"
#include "comm/exchange/exchange.hpp"
#include "data/dataset.hpp"
#include "train/evaluation/metrics.hpp"

namespace dbench::train {

class Model;
class Replicas;

struct EvaluationPlan {
    std::vector<int64_t> replicas;  ///< whose local models are evaluated
    int64_t batch_size = 256;
    bool recalibrate = false;  ///< BatchNorm of the mean model: re-estimated, else pooled
    /// Sets are texts that are read on in batch_size columns, with the state that a model carries
    /// over; else every sample begins from zero.
    bool carried = false;
    std::vector<const Metric*> metrics;  ///< beside loss and accuracy
    std::string texts = {};              ///< folder of what the mean model writes, if it does
};

/// Evenly spaced replicas floor(j n / m), j = 0 .. m-1.
std::vector<int64_t> spaced_replicas(int64_t n, int64_t m);

class Evaluator {
public:
    Evaluator(comm::World& world, const comm::Placement& placement, const Model& model,
              Replicas& replicas, comm::Exchange& exchange, const data::DataSets& data,
              const EvaluationPlan& plan);
    ~Evaluator();

    /// Scores of x (rows of parameter size); complete on rank 0. Collective.
    void evaluate(arena::Rows x, algorithms::EvaluationRecord& record);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
