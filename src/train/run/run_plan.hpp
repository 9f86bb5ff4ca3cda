#pragma once
// What a run does when: its length, and how often it evaluates, profiles and saves, in iterations.

#include "base/run_length.hpp"
#include "data/loader.hpp"
#include "train/evaluation/evaluation.hpp"
#include "train/run/trainer.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

/// Throws UserError where the spec's length comes to more iterations than a run can have.
base::RunLength run_length(const RunSpec& spec, const data::BatchPlan& batches);

/// Throws UserError where the stages of a cadence do not follow each other.
TrainerPlan plan_training(const RunSpec& spec, const base::RunLength& run, int64_t train_samples);

EvaluationPlan plan_evaluation(const RunSpec& spec, const data::Dataset& test);

}  // namespace dbench::train
