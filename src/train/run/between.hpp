#pragma once
// What happens between iterations, whoever steps: evaluations, checkpoints, a look at the losses,
// the end by a signal.

#include <string>
#include <vector>

#include "train/run/records.hpp"
#include "train/run/trainer.hpp"

namespace dbench::train {

class Between {
public:
    Between(const TrainerParts& parts, const TrainerPlan& plan);

    /// Before iteration t: throws where a peer has failed.
    void check(int64_t t);
    /// What slow replicas' computation adds to iteration t, in seconds, before their gradients
    /// come: waits so long.
    double hold_up(int64_t t);
    /// The state after so many iterations is evaluated.
    void evaluate(int64_t completed);
    /// After so many iterations: evaluates and saves where that is due.
    void completed(int64_t completed);
    /// The last checkpoint of a run that a signal ends; the signal's name.
    std::string stopped(int64_t completed);
    /// Reports a replica's first non-finite loss; the values themselves are recorded as they are.
    /// Throws RunError where the plan says stop.
    void look(int64_t t, const std::vector<double>& loss);
    /// After iteration t: says once, and tells, why passes that were to be captured are not.
    void note_uncaptured(int64_t t);
    /// Records whose losses a device may still be computing.
    Records& records() { return records_; }
    /// Tells the observer, whose time is charged to the next record's profiling.
    void tell(algorithms::IterationRecord& record);
    /// Samples that all replicas have consumed after so many iterations, over N.
    double epoch(int64_t completed) const;

private:
    void save(int64_t completed);
    void checkpoint(int64_t completed);  // of all state, as recorded so far

    const TrainerParts& parts_;
    const TrainerPlan& plan_;
    std::vector<bool> reported_;  ///< replicas whose loss was not finite
    std::string said_;            ///< of a checkpoint that could not be written
    bool uncaptured_ = false;     ///< has been said
    double recording_ = 0;        ///< seconds of the observer
    Records records_;
};

}  // namespace dbench::train
