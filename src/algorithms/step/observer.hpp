#pragma once
// The records that training passes to observers (for example the recorder of the result file).
// Observers never change what is computed. `flush_to_disk` may refuse a checkpoint, and a recorder
// that cannot write ends the run. The module `profile` sees nothing else of training, so the types
// here depend neither on LibTorch nor on HDF5.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/step/timers.hpp"
#include "graphs/schedule.hpp"

namespace dbench::algorithms {

/// One iteration as measured by one rank. Rates and costs are global and equal on every rank.
struct IterationRecord {
    int64_t iteration = 0;
    double epoch = 0;  ///< Samples consumed by all replicas at the end of the iteration, over N.
    double lr = 0;
    bool averaged = false;
    graphs::Round round{0, true};  ///< Round of the iteration; W is applied only if `averaged`.
    int64_t averagings = 0;        ///< Number for the parameters.
    double degree = 0;             ///< Mean out-degree without the replica itself.
    int64_t messages = 0;
    double bytes_sent = 0;  ///< Bytes that all replicas send, as if each had a rank.

    std::vector<double> loss, accuracy;  ///< [R] of the minibatch, at the gradient's point.

    // Filled in for asynchronous algorithms only. Each replica then has its own iteration of
    // this number.
    bool asynchronous = false;
    std::vector<double> staleness;     ///< [R] Asynchronous::staleness
    std::vector<double> replica_time;  ///< [R] End of the iteration, seconds from the run's start.

    Times times;            ///< Times of this rank; settled before an observer receives them.
    int awaited_rank = -1;  ///< In the iteration's exchanges, see comm::WaitTimes; -1: none.
    /// Bytes that all replicas send for the profile, as if each had a rank.
    double profile_bytes = 0;
    double control_bytes = 0;  ///< Bytes sent for a controller, counted the same way.

    // Filled in if the iteration is profiled, else empty. R local replicas, T tensors.
    bool profiled = false;
    std::vector<double> norm;                        ///< [R, T] Just before averaging.
    std::vector<double> update_norm, gradient_norm;  ///< [R]
    // Filled in if exact variance is due, else empty. Equal on every rank.
    bool has_variance = false;
    std::vector<double> variance;  ///< [T]
    double consensus_distance = 0;
    std::vector<double> variance_after;  ///< [T] With profile.after.
    double consensus_distance_after = 0;

    /// Functions that fill in fields above once the device has computed them; see
    /// `receive_device_values`.
    std::vector<std::function<void(IterationRecord&)>> deferred;
    /// Completes the record. To be called once the device has finished the iteration's launches,
    /// before an observer receives the record.
    void receive_device_values() {
        times.receive_device_values();
        for (const auto& write : std::exchange(deferred, {})) write(*this);
    }
};

/// A metric in addition to loss and accuracy: it fills the columns local_NAME and mean_NAME.
struct MetricName {
    std::string name, unit, description;
};

/// The scores of one further metric on one set of samples.
struct MetricScores {
    std::string name;
    std::vector<double> local;  ///< [m] Scores of the evaluated replicas.
    double mean;                ///< Score of the averaged parameters.
};

/// Scores on one set of samples. Complete on rank 0 only.
struct Scores {
    std::vector<double> local_accuracy, local_loss;  ///< [m] Scores of the evaluated replicas.
    double mean_accuracy = 0, mean_loss = 0;         ///< Scores of the averaged parameters.
    std::vector<MetricScores> metrics;  ///< Further metrics, in the order of the table of metrics.
};

/// One evaluation between two iterations.
struct EvaluationRecord {
    int64_t iteration = 0;  ///< Number of completed iterations.
    double epoch = 0;
    double elapsed = 0;  ///< Seconds since the first start, without pauses between segments.
    double seconds = 0;  ///< Duration of the evaluation.
    Scores test;
    Scores validation;  ///< Empty vectors if there is no validation set.
};

/// Receives the records of a run. All ranks call in the same order; the arguments of `evaluation`
/// and `event` have their contents on rank 0 only.
class Observer {
public:
    virtual ~Observer() = default;
    /// Called before iteration t begins.
    virtual void iteration_begins(int64_t /*t*/) {}
    /// Called when iteration t has ended, with its evaluation and its checkpoint.
    virtual void iteration_ended(int64_t /*t*/) {}
    virtual void iteration(const IterationRecord& record) = 0;
    virtual void evaluation(const EvaluationRecord& record) = 0;
    /// Called before and after each evaluation and checkpoint: they may take long.
    virtual void note_progress() {}
    /// Writes everything received so far to the disk. Called before a checkpoint is written.
    /// Returns why no checkpoint may be written now; "" if one may. Throws on all ranks if the
    /// records cannot be written: the run must then end.
    virtual std::string flush_to_disk() { return ""; }
    /// Receives graph changes, faults and warnings. Rank 0 only; `kind` has at most 15 characters.
    virtual void event(int64_t iteration, const std::string& kind, const std::string& text) = 0;
};

}  // namespace dbench::algorithms
