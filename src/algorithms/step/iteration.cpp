#include "algorithms/step/iteration.hpp"

#include <vector>

#include "algorithms/step/clipping.hpp"

namespace dbench::algorithms {

void iterate(Step& step, Algorithm& algorithm, std::optional<double> clip_norm,
             const Gradients& gradients) {
    std::vector<arena::Columns> complete;  // that wait for clipping
    algorithm.before_forward(step);
    gradients([&](arena::Columns columns) {
        step.probe.gradient(step.g, columns);
        if (clip_norm) {
            complete.push_back(columns);
        } else {
            algorithm.ready(step, columns);
        }
    });
    if (clip_norm) {
        {
            const TimedScope scope(step.timers, Phase::update);
            clip(step.layout, step.g, *clip_norm);
        }
        for (const arena::Columns columns : complete) algorithm.ready(step, columns);
    }
    algorithm.after_backward(step);
}

}  // namespace dbench::algorithms
