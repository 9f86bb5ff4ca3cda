#include "train/capture.hpp"

#include "base/error.hpp"
#include "train/device.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

std::string capture_obstacle(const Device& device, const Model& model, const data::Dataset& train,
                             const data::BatchPlan& batches, int64_t parts,
                             const algorithms::AlgorithmEntry& row) {
    if (!device.queues().compute) return "replicas train on the CPU, which launches nothing";
    if (row.accepts.asynchronous || row.accepts.linearises) {
        return row.name + " takes its replicas one by one";
    }
    if (train.ragged() || batches.full) return "minibatches may differ in size";
    const Declaration& declaration = model.declaration();
    if (parts > 1 && (declaration.draws || !declaration.carried.empty())) {
        return "with /data/accumulate each part of a minibatch begins with draws or a state of "
               "its own";
    }
    return "";
}

CaptureChoice choose_capture(Capture wanted, Stacking stacking, std::string obstacle) {
    if (wanted == Capture::off) return {false, ""};
    const bool settled = stacking == Stacking::batched || stacking == Stacking::streams;
    if (obstacle.empty() && (settled || (stacking == Stacking::any && wanted == Capture::on))) {
        obstacle = "with /stacking replicas may pass the model together or side by side";
    }
    if (wanted == Capture::on && !obstacle.empty()) {
        throw base::UserError("/capture: passes cannot be captured (" + obstacle +
                              "): leave it out");
    }
    return {obstacle.empty(), obstacle};
}

}  // namespace dbench::train
