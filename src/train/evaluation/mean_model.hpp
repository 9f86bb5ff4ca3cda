#pragma once  // Private to train/evaluation.
// The mean model: the mean parameters over all replicas, with matching BatchNorm statistics.

#include <memory>
#include <vector>

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
              Replicas& replicas, comm::Exchange& exchange, int64_t threads = 1);

    /// Returns the mean of x with pooled statistics: the mean of the replicas' means, and the mean
    /// of their variances plus the variance of their means. Every rank gets the same bits.
    /// Collective.
    Weights pooled(arena::Rows x);

    /// Returns the mean of x with re-estimated statistics: plain averages of the statistics of 32
    /// batches (fewer if the training set is smaller). Each batch takes samples at equal distances
    /// over the whole training set, whose order may be that of the classes. The ranks share the
    /// batches. Collective.
    Weights recalibrated(arena::Rows x, const data::Dataset& train, int64_t batch_size);

private:
    /// Pooled buffers that are not statistics of BatchNorm: a recalibration keeps them.
    struct OtherBuffers {
        std::vector<double> values;          ///< By column; empty if there are no such buffers.
        std::vector<torch::Tensor> tensors;  ///< Copies, by buffer; undefined for statistics.
    };

    void average_parameters(arena::Rows x);
    /// Averages the parameters, and pools the buffers if some of them are no statistics.
    OtherBuffers pool_other_buffers(arena::Rows x);
    /// Returns the statistics of one batch, by column, and the values of the other buffers.
    /// `number` seeds the units that are dropped.
    std::vector<double> statistics_of(const data::Batch& batch, int64_t number,
                                      const Weights& weights, const OtherBuffers& others);
    arena::Queue& queue() const;
    arena::HostRows replaced(const arena::Buffer& row) const;

    comm::World& world_;
    const Model& model_;
    Replicas& replicas_;
    comm::Exchange& exchange_;
    int64_t threads_;                                   // They read the samples of a recalibration.
    arena::Layout pooled_layout_;                       // Per buffer: its value, and the square.
    std::unique_ptr<comm::Exchange> buffer_exchange_;   // Over the pooled layout, in float64.
    arena::Buffer pooled_rows_, parameters_, buffers_;  // parameters_ and buffers_ have one row.
    arena::HostVisibleArray<double> mean_;
};

}  // namespace dbench::train
