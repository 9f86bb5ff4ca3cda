#pragma once  // Private to train/evaluation.
// The mean model: the mean parameters over all replicas, with matching BatchNorm statistics.

#include <memory>

#include "arena/device/host_rows.hpp"
#include "arena/device/memory.hpp"
#include "comm/exchange/exchange.hpp"
#include "data/dataset.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

class Replicas;

/// Owns the memory of the mean model; the Weights that its functions return refer to it until the
/// next call.
class MeanModel {
public:
    MeanModel(comm::World& world, const comm::Placement& placement, const Model& model,
              Replicas& replicas, comm::Exchange& exchange);

    /// Returns the mean of x with pooled statistics: the mean of the replicas' means, and the mean
    /// of their variances plus the variance of their means. Every rank gets the same bits.
    /// Collective.
    Weights pooled(arena::Rows x);

    /// Returns the mean of x with re-estimated statistics: plain averages of the batch statistics
    /// of the first 32 batches of the training set (fewer if the set is smaller). The ranks share
    /// the batches. Collective.
    Weights recalibrated(arena::Rows x, const data::Dataset& train, int64_t batch_size);

private:
    void average_parameters(arena::Rows x);
    arena::Queue& queue() const;
    arena::HostRows replaced(const arena::Buffer& row) const;

    comm::World& world_;
    const Model& model_;
    Replicas& replicas_;
    comm::Exchange& exchange_;
    arena::Layout pooled_layout_;                       // Per buffer: its value, and the square.
    std::unique_ptr<comm::Exchange> buffer_exchange_;   // Over the pooled layout, in float64.
    arena::Buffer pooled_rows_, parameters_, buffers_;  // parameters_ and buffers_ have one row.
    arena::HostVisibleArray<double> mean_;
};

}  // namespace dbench::train
