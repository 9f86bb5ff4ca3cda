#pragma once
// Evaluates local models and the mean model on whole data sets: loss, accuracy and further metrics.
// Changes nothing that training reads.
//
// Housekeeping (train/run) calls Evaluator::evaluate between iterations. mean_model.hpp computes
// the mean model, metrics.hpp the further metrics, bleu.hpp one of them.

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
    std::vector<int64_t> replicas;  ///< Replicas whose local models are evaluated.
    int64_t batch_size = 256;
    /// BatchNorm statistics of the mean model: re-estimated, else pooled.
    bool recalibrate = false;
    /// The sets are texts, read in batch_size parallel columns with the model's state carried from
    /// batch to batch; else every sample begins with a state of zero.
    bool carried = false;
    std::vector<const Metric*> metrics;  ///< In addition to loss and accuracy.
    std::string texts = {};              ///< Folder for texts that the mean model produces.

    /// True if a metric produces texts.
    bool writes_texts() const;
};

/// Returns why texts cannot be written to `folder`: it is a link, or no folder. Returns "" if it is
/// a folder or does not exist. A link could lead to files of someone else.
std::string texts_obstacle(const std::string& folder);
/// Removes the texts that an earlier run wrote to `folder`, unless it is a link.
void remove_texts(const std::string& folder);

/// Returns the evenly spaced replicas floor(j n / m), j = 0 .. m-1.
std::vector<int64_t> spaced_replicas(int64_t n, int64_t m);

/// Owns the mean model's memory; refers to everything else, which must outlive it.
class Evaluator {
public:
    Evaluator(comm::World& world, const comm::Placement& placement, const Model& model,
              Replicas& replicas, comm::Exchange& exchange, const data::DataSets& data,
              const EvaluationPlan& plan);
    ~Evaluator();

    /// Scores the parameters x (one row per local replica) and fills `record`; its scores are
    /// complete on rank 0 only. Collective.
    void evaluate(arena::Rows x, algorithms::EvaluationRecord& record);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::train
