#pragma once
// The exchanges of algorithms that move parameters along a tracker while they are averaged.

#include <vector>

#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {

/// Computes x_{t+1} = W_t x_t - lr y_t and then W_t y_t, for algorithms with a tracker y in the
/// form diging. The parameters are exchanged during forward and backward, the tracker bucket by
/// bucket.
class TrackedDescent {
public:
    void declare(arena::StateTable& state) { mixed_ = state.scratch(); }
    /// Starts to average the parameters.
    void before_forward(Step& step) {
        step.probe.about_to_average(step.x);
        parameters_.start(step, step.x);
    }
    /// Starts to average the columns of the tracker, which hold y_t.
    void send(Step& step, arena::Rows y, arena::Columns columns) {
        trackers_.push_back({step.start_mix(y, columns), columns});
    }
    /// Averages the columns that were sent, and sends them again: y_t <- W_t y_t.
    void send_averaged(Step& step, arena::Rows y) {
        for (auto& [token, columns] : trackers_) {
            step.finish_mix(token, y);
            token = step.start_mix(y, columns);
        }
    }
    /// Moves the averaged parameters along y as it was sent, then averages y.
    void finish(Step& step, arena::Rows y) {
        parameters_.finish(step, mixed_.rows(), [&](arena::Columns columns) {
            step.apply_direction(step.x, mixed_.rows(), y, columns);
        });
        step.probe.averaged(mixed_.rows());
        for (const auto& [token, columns] : trackers_) step.finish_mix(token, y);
        trackers_.clear();
    }

private:
    arena::Buffer mixed_;  // W x
    TiledMix parameters_;
    std::vector<PendingTile> trackers_;
};

}  // namespace dbench::algorithms
