#include "train/passes/capture.hpp"

#include "base/error.hpp"
#include "train/device/device.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

std::string capture_obstacle(const Device& device, const Model& model, const data::Dataset& train,
                             const data::BatchPlan& batches, int64_t parts,
                             const algorithms::AlgorithmEntry& row) {
    if (device.is_host()) return "replicas train on the CPU, which has no launches to capture";
    if (row.accepts.asynchronous || row.accepts.linearises) {
        return row.name + " computes the gradients of its replicas one after another";
    }
    if (train.ragged() || batches.full) return "minibatches may differ in size";
    const Declaration& declaration = model.declaration();
    if (parts > 1 && (declaration.draws || !declaration.carried.empty())) {
        return "with /data/accumulate each part of a minibatch starts with random numbers or a "
               "carried state of its own";
    }
    return "";
}

// CUDA graphs all draw from one random number generator, which has one seed at a time.
std::string concurrent_capture_obstacle(const Model& model) {
    if (!model.declaration().draws) return "";
    return "the model uses dropout, and concurrent replicas would share a seed";
}

CaptureChoice choose_capture(Capture wanted, std::string obstacle) {
    if (wanted == Capture::off) return {false, ""};
    if (wanted == Capture::on && !obstacle.empty()) {
        throw base::UserError("/capture: passes cannot be captured (" + obstacle +
                              "): leave it out");
    }
    return {obstacle.empty(), obstacle};
}

}  // namespace dbench::train
