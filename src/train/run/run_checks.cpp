#include "train/run/run_checks.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "train/models/model.hpp"

namespace dbench::train {

using base::UserError;

void check_message(const RunSpec& spec) {
    if (spec.message.rows == arena::Codec::identity || spec.reduction != ReductionChoice::library) {
        return;
    }
    throw base::UserError(
        "/message: 16-bit rows are added along the program's own tree, not by MPI's library: "
        "leave /reduction out, or choose \"reproducible\"");
}

comm::Reduction choose_reduction(const RunSpec& spec, const comm::World& world) {
    if (spec.reduction == ReductionChoice::library) return comm::Reduction::library;
    // A library can only add unencoded numbers, and only between ranks.
    const bool can = spec.message.rows == arena::Codec::identity && world.size() > 1;
    return spec.reduction == ReductionChoice::automatic && !world.place().immediate() && can
               ? comm::Reduction::library
               : comm::Reduction::reproducible;
}

void check_compute(const RunSpec& spec) {
    if (spec.compute == Compute::precision || spec.precision == arena::DType::float32) return;
    throw UserError(
        "/compute: bfloat16 requires parameters and gradients in float32 (/precision is "
        "float64): leave one of the two out");
}

void check_rates(const algorithms::LearningRate& rates, const std::string& algorithm) {
    const int64_t t = rates.first_zero();
    if (t < 0) return;
    throw UserError("/optimizer/lr: is 0 in iteration " + std::to_string(t) + ", but " + algorithm +
                    " divides by it: set a positive rate (a positive /schedule/lr_min or "
                    "/schedule/gamma), or choose dsgd");
}

void check_controller(const graphs::StagedSchedule& staged, const algorithms::Algorithm& algorithm,
                      const std::string& name, int64_t iterations) {
    if (algorithm.mixes_again() || !staged.repeats() || !staged.measures_before(iterations)) return;
    throw UserError("/graph: averages several times in an iteration (" + name +
                    " cannot): choose \"by\": \"degree\", or the algorithm dsgd");
}

void check_asynchronous(const comm::World& world, int64_t replicas, const RunSpec& spec,
                        const graphs::StagedSchedule* staged, const std::string& name) {
    if (world.size() > 1 && world.size() != replicas) {
        throw UserError("/algorithm: " + name + " requires all replicas in one process, or one " +
                        "rank for each replica (there are " + std::to_string(world.size()) +
                        " ranks for " + std::to_string(replicas) + " replicas): start 1 or " +
                        std::to_string(replicas) + ", or choose the algorithm dsgd");
    }
    if (world.size() > 1 && !world.place().immediate()) {
        throw UserError("/device: " + name +
                        " with one rank for each replica averages in the host's memory, not on a "
                        "GPU: set \"cpu\", or start one rank");
    }
    if (staged) {
        throw UserError("/graph: changes with the run's iterations (with " + name +
                        " each replica counts its own): choose a single graph, or the "
                        "algorithm dsgd");
    }
    if (spec.profile.after) {
        throw UserError("/profile/after: with " + name +
                        " there is no moment when all replicas "
                        "have just averaged: leave it out, or choose the algorithm dsgd");
    }
}

void check_temperature(const algorithms::Algorithm& algorithm, const std::string& name,
                       int64_t classes) {
    if (classes > 0 || algorithm.temperature() == 1) return;
    throw UserError(
        "/algorithm/temperature: divides the logits of classes (the data have real targets, "
        "whose outputs " +
        name + " compares unscaled): leave it out");
}

void check_passes(double smoothing, int64_t parts, const algorithms::AlgorithmEntry& row,
                  const Model& model, const data::Dataset& train, const data::BatchPlan& batches) {
    if (smoothing > 0 && train.classes() == 0) {
        throw UserError(
            "/label_smoothing: spreads a share over all classes (the data have real targets): "
            "leave it out, or use data with classes, such as shapes");
    }
    if (smoothing > 0 && row.accepts.linearises) {
        throw UserError("/label_smoothing: changes the gradient of the loss (" + row.name +
                        " uses none): leave it out, or choose the algorithm dsgd");
    }
    if (parts == 1) return;
    if (!train.ragged() && parts > batches.batch_size) {
        throw UserError("/data/accumulate: a batch of " + std::to_string(batches.batch_size) +
                        " samples cannot be divided into " + std::to_string(parts) +
                        " parts: use at most " + std::to_string(batches.batch_size));
    }
    if (row.accepts.linearises || row.promises.distils) {
        throw UserError("/data/accumulate: computes gradients by parts of a batch (" + row.name +
                        " uses the batch for more than its gradient): leave it out, or choose the "
                        "algorithm dsgd");
    }
    if (!model.declaration().carried.empty()) {
        throw UserError(
            "/data/accumulate: divides a batch (the text and the model's state continue from one "
            "whole batch to the next): leave it out, or choose another partition than stream");
    }
}

void check_carried(const Model& model) {
    if (!model.declaration().carried.empty()) return;
    throw UserError(
        "/evaluate/state: the model carries no state from batch to batch: leave it out, or choose "
        "the model lstm with the partition stream and a number as batch_size");
}

void check_linearised(const Model& model, const data::Dataset& train,
                      const data::BatchPlan& batches, const std::string& algorithm) {
    if (!model.declaration().buffers.empty()) {
        throw UserError("/model: has BatchNorm, whose statistics depend on the whole minibatch (" +
                        algorithm +
                        " needs the Jacobian of each sample): choose a model without it, such as "
                        "mlp");
    }
    if (train.tokens()) {
        throw UserError("/data: has a label for each position of a text (" + algorithm +
                        " needs Jacobians of one output per sample): choose a data set such as "
                        "fashion_mnist");
    }
    if (batches.full) {
        throw UserError(
            "/data/batch_size: \"full\" batches may differ in size (the Jacobians "
            "that " +
            algorithm + " sends have one size): give a number of samples, such as 50");
    }
}

bool never_exchanges(const algorithms::Algorithm& algorithm, const graphs::Schedule& schedule,
                     int64_t iterations) {
    constexpr int64_t kMaxChecked = 4096;
    const int64_t first = schedule.first_exchange();
    if (first >= iterations) return true;
    const int64_t last = std::min(iterations, first + kMaxChecked);
    for (int64_t t = first; t < last; ++t) {
        if (algorithm.sent(t, schedule.at(t)).messages > 0) return false;
    }
    const int64_t period = schedule.period();
    return last == iterations || (period > 0 && period <= kMaxChecked);
}

}  // namespace dbench::train
