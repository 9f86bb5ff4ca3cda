#pragma once
// One iteration: an algorithm around a gradient.

#include <functional>
#include <optional>

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

/// Calls its argument for each range of columns, once, when step.g is complete there.
using Gradients = std::function<void(const std::function<void(arena::Columns)>& ready)>;

/// Takes the step that `step` describes. With `clip_norm`, each replica's gradient is shortened to
/// it before the algorithm sees it, which is then only after the whole of backward.
void iterate(Step& step, Algorithm& algorithm, std::optional<double> clip_norm,
             const Gradients& gradients);

}  // namespace dbench::algorithms
