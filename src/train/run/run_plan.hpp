#pragma once  // Private to train/run.
// Turns the spec's durations into iterations: the run's length, and how often it evaluates,
// profiles and writes checkpoints.

#include "base/run_length.hpp"
#include "data/loader.hpp"
#include "train/evaluation/evaluation.hpp"
#include "train/run/trainer.hpp"
#include "train/spec/run_spec.hpp"

namespace dbench::train {

/// Throws UserError if the spec's length exceeds 10^12 iterations.
base::RunLength run_length(const RunSpec& spec, const data::BatchPlan& batches);

/// Throws UserError if the stages of a cadence are not in ascending order.
TrainerPlan plan_training(const RunSpec& spec, const base::RunLength& run, int64_t train_samples);

EvaluationPlan plan_evaluation(const RunSpec& spec, const data::Dataset& test);

}  // namespace dbench::train
