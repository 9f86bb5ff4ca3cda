#pragma once
// The averaged model: mean parameters over all replicas, and BatchNorm statistics to go with them.

#include <memory>

#include "arena/device/host_rows.hpp"
#include "arena/device/memory.hpp"
#include "comm/exchange/exchange.hpp"
#include "data/dataset.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

class Replicas;

class MeanModel {
public:
    MeanModel(comm::World& world, const comm::Placement& placement, const Model& model,
              Replicas& replicas, comm::Exchange& exchange);

    /// Mean of x over all replicas with pooled statistics: mean of the means; mean of the variances
    /// plus the variance of the means. Collective; the same bits on every rank.
    Weights pooled(arena::Rows x);

    /// Mean of x with statistics re-estimated: plain averages of the batch statistics of the first
    /// 32 batches of the training set (fewer if it is smaller), dealt over the ranks. Collective.
    Weights recalibrated(arena::Rows x, const data::Dataset& train, int64_t batch_size);

private:
    void average_parameters(arena::Rows x);
    arena::Queue* queue() const;
    arena::HostRows replaced(const arena::Buffer& row) const;

    comm::World& world_;
    const Model& model_;
    Replicas& replicas_;
    comm::Exchange& exchange_;
    arena::Layout pooled_layout_;                       // per buffer: value, and its square
    std::unique_ptr<comm::Exchange> buffer_exchange_;   // over the pooled layout, float64
    arena::Buffer pooled_rows_, parameters_, buffers_;  // of one row: parameters_, buffers_
    arena::Values<double> mean_;
};

}  // namespace dbench::train
