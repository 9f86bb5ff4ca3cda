#pragma once
// Event simulation of the time of training: when each rank computes, sends, waits and averages. It
// is a pure function of the measured costs, the messages of each iteration, the hosts of the ranks,
// and a seed. docs/predict.md describes the model and its limits.

#include <cstdint>
#include <vector>

#include "predict/network.hpp"
#include "predict/order.hpp"
#include "predict/rounds.hpp"
#include "predict/work.hpp"

namespace dbench::predict {

/// The simulated iterations.
struct Outcome {
    int64_t iterations = 0;
    int ranks = 0;
    std::vector<double> step;  ///< [iterations, ranks]: seconds of each iteration of each rank.
    double exposed = 0;  ///< Mean seconds of an iteration that are neither compute nor update.

    /// Returns the mean over ranks and iterations begin .. end - 1.
    double mean(int64_t begin, int64_t end) const;
    double mean() const { return mean(0, iterations); }
};

/// Simulates `iterations` iterations after a few that are not counted. Rank r draws its compute
/// steps from a stream of (seed, r), and host h its slowdown from another of (seed, h), so every
/// graph and order gets the same draws.
Outcome simulate(const Work& work, const Network& network, const Rounds& rounds, Order order,
                 int64_t iterations, uint64_t seed);

}  // namespace dbench::predict
