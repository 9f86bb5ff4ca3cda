#include "train/run/run_facts.hpp"

#include <algorithm>

namespace dbench::train {

algorithms::ArithmeticFacts arithmetic_facts(const RunSpec& spec) {
    return {.float32 = spec.precision == arena::DType::float32,
            .bfloat16 = spec.compute == Compute::bfloat16,
            .tf32 = spec.compute == Compute::tf32,
            .library_reduction = spec.reduction == ReductionChoice::library};
}

algorithms::DataFacts data_facts(const data::Dataset& train, const data::BatchPlan& batches) {
    return {.classes = train.classes(),
            .tokens = train.tokens(),
            .ragged = train.ragged(),
            .batch_size = batches.batch_size,
            .full_batches = batches.full};
}

algorithms::PassFacts pass_facts(const RunSpec& spec, int64_t microbatches, bool on_host) {
    return {.smooths_labels = spec.label_smoothing > 0,
            .microbatches = microbatches,
            .streams = spec.stacking == Stacking::streams,
            .batched = spec.stacking == Stacking::batched,
            .captured = spec.capture == Capture::on,
            .carried_evaluation = spec.evaluate.carried,
            .on_host = on_host};
}

algorithms::ScheduleFacts schedule_facts(const graphs::StagedSchedule* staged, int64_t iterations) {
    return {.iterations = iterations,
            .staged = staged != nullptr,
            .repeats = staged && staged->repeats() && staged->measures_before(iterations)};
}

comm::Reduction choose_reduction(const RunSpec& spec, const comm::World& world) {
    if (spec.reduction == ReductionChoice::library) return comm::Reduction::library;
    // A library can only add unencoded numbers, and only between ranks.
    const bool can = spec.message.rows == arena::ElementCodec::identity && world.size() > 1;
    return spec.reduction == ReductionChoice::automatic && !world.place().immediate() && can
               ? comm::Reduction::library
               : comm::Reduction::reproducible;
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
