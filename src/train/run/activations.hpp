#pragma once  // Private to train/run.
// An estimate of the memory that activations need, from passes of a few samples on the host.

#include <cstdint>

#include "data/dataset.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

class Model;

/// The sizes of the batches that pass through the model at once.
struct PassSizes {
    int64_t training = 1;    ///< Samples of one micro-batch.
    int64_t evaluation = 1;  ///< Samples of an evaluated batch.
    bool fixed = false;      ///< The model accepts batches of the size `training` only.
};

/// The most bytes of activations at once.
struct ActivationBytes {
    int64_t training = 0, evaluation = 0;
};

/// Returns the most bytes that LibTorch has allocated at once in the pass of one replica: forward
/// and backward on a micro-batch, and forward on an evaluated batch. The passes run on the
/// host with at most four samples (all, if the size is fixed), and memory is taken to grow linearly
/// with the samples. Memory that libraries allocate on their own is not counted. Leaves no trace:
/// the replica is one of its own.
ActivationBytes activation_bytes(const Model& model, const RunSpec& spec,
                                 const data::Dataset& train, const PassSizes& sizes);

}  // namespace dbench::train
