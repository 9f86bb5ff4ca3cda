#pragma once
// What training tells whoever watches. Told, never asked: nothing here changes a run. Plain types
// only: this is all that the rooms after `train` see of it.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/step/timers.hpp"
#include "graphs/schedule.hpp"

namespace dbench::algorithms {

/// One iteration as seen by one rank. Rates and costs are global and equal on every rank.
struct IterationRecord {
    int64_t iteration = 0;
    double epoch = 0;  ///< samples consumed by all replicas at the end of the iteration, over N
    double lr = 0;
    bool averaged = false;         ///< parameters were averaged with the matrix of `round`
    graphs::Round round{0, true};  ///< where averaged
    int64_t rounds = 0;            ///< averagings of parameters
    double degree = 0;             ///< mean out-degree without self
    int64_t messages = 0;
    double bytes_sent = 0;  ///< all replicas, as if each had a rank

    std::vector<double> loss, accuracy;  ///< [R] minibatch, where the gradient was taken

    // Where replicas do not wait for each other (else empty): each has its own iteration of this
    // number.
    bool asynchronous = false;
    std::vector<double> staleness;     ///< [R] Asynchronous::staleness
    std::vector<double> replica_time;  ///< [R] when it ended, in seconds from the run's start

    Times times;  ///< of this rank; settled when an observer is told
    double profile_bytes = 0;
    double control_bytes = 0;  ///< for a controller, all replicas, as if each had a rank

    // Where the iteration is profiled (else empty). R local replicas, T tensors.
    bool profiled = false;
    std::vector<double> norm;                        ///< [R, T] just before averaging
    std::vector<double> update_norm, gradient_norm;  ///< [R]
    // Where exact variance is due (else empty); equal on every rank.
    bool has_variance = false;
    std::vector<double> variance;  ///< [T]
    double consensus_distance = 0;
    std::vector<double> variance_after;  ///< [T], with profile.after
    double consensus_distance_after = 0;

    /// What a device has yet to measure for the fields above; done when an observer is told.
    std::vector<std::function<void(IterationRecord&)>> late;
    /// Once the device has come so far.
    void settle() {
        times.settle();
        for (const auto& write : std::exchange(late, {})) write(*this);
    }
};

/// What evaluations tell beside loss and accuracy: the columns local_NAME and mean_NAME.
struct MetricName {
    std::string name, unit, description;
};

/// A further metric of one set of samples.
struct MetricScores {
    std::string name;
    std::vector<double> local;  ///< [m]
    double mean;                ///< of the averaged parameters
};

/// Scores of one set of samples, complete on rank 0.
struct Scores {
    std::vector<double> local_accuracy, local_loss;  ///< [m]
    double mean_accuracy = 0, mean_loss = 0;         ///< of the averaged parameters
    std::vector<MetricScores> metrics;               ///< in the order of the run's MetricNames
};

struct EvaluationRecord {
    int64_t iteration = 0;  ///< iterations completed
    double epoch = 0;
    double elapsed = 0;  ///< seconds since the first start, pauses left out
    double seconds = 0;  ///< that it took
    Scores test;
    Scores validation;  ///< empty vectors where there is no such set
};

/// All ranks call in the same order; `evaluation` and `event` carry their contents on rank 0.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void iteration(const IterationRecord& record) = 0;
    virtual void evaluation(const EvaluationRecord& record) = 0;
    /// All that was told so far is to be on the disk: a checkpoint is about to be written.
    virtual void settle() {}
    /// Graph changes, faults, warnings. Rank 0 only; `kind` at most 15 characters.
    virtual void event(int64_t iteration, const std::string& kind, const std::string& text) = 0;
};

}  // namespace dbench::algorithms
