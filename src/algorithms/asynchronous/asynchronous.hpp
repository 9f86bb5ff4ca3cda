#pragma once
// Algorithms whose replicas do not wait for each other. A replica takes a snapshot of its
// parameters, computes the gradient there, averages with whom the algorithm says, applies the
// gradient, and begins again; meanwhile others may change its parameters. What is written here
// holds whether time is virtual (LocalPeers, Timeline) or a rank's own.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

/// The iteration of a replica, by its own count.
struct Turn {
    int64_t replica, iteration;
    bool operator==(const Turn&) const = default;
};

/// What a replica has of the others at the end of a gradient.
class Peers {
public:
    virtual ~Peers() = default;
    /// x_i, x_j <- (x_i + x_j) / 2 of what both are now, atomically.
    virtual void average(int64_t i, int64_t j) = 0;
    /// Averagings in which x_i has taken part since its snapshot.
    virtual int64_t averagings(int64_t i) const = 0;
    /// x_i <- sum over the links of their weight times the last snapshot that has come from there;
    /// x_i itself for its own, and for whom nothing has come from.
    virtual void mix(int64_t i, const std::vector<graphs::Link>& links) = 0;
    /// Iteration whose snapshot was the oldest one in the last `mix` of x_i; its own counts, too.
    virtual int64_t oldest(int64_t i) const = 0;
};

/// How long a gradient takes in virtual time, see ComputeTimes.
struct Pace {
    double seconds = 1;  ///< on the mean
    double jitter = 0;   ///< largest part of it by which a gradient is quicker or slower
};

class Asynchronous : public Algorithm {
public:
    Asynchronous(const base::Json& spec, const AlgorithmContext& context);

    /// The averaging at the end of a turn: between the gradient, which is taken at the snapshot,
    /// and x_i <- x_i - lr d.
    virtual void average(const Turn& turn, Peers& peers) const = 0;
    /// How much has happened that the gradient does not know of, when it is applied.
    virtual int64_t staleness(const Turn& turn, const Peers& peers) const = 0;
    /// Whom a replica averages with on its own account at the end of the turn; -1: nobody. Where
    /// `sends_snapshots` it is always -1.
    virtual int64_t asks(const Turn& turn) const = 0;
    /// Whether every snapshot goes to all who use it, when it is taken.
    virtual bool sends_snapshots() const = 0;

    void declare(arena::StateTable& state) override;
    Asynchronous* asynchronous() override { return this; }

    /// The parameters where each local replica takes its gradient.
    arena::Rows snapshots() const { return snapshots_.rows(); }
    /// Seconds from the run's start to the last barrier, at which all replicas waited.
    double& clock() { return clock_; }
    const Pace& pace() const { return pace_; }

protected:
    const graphs::Schedule& schedule() const { return *schedule_; }
    int64_t replicas() const { return replicas_; }

private:
    const graphs::Schedule* schedule_;
    int64_t replicas_;
    Pace pace_;
    double clock_ = 0;
    arena::Buffer snapshots_;
};

/// The keys of every such algorithm: those of its pace.
std::vector<base::Parameter> pace_parameters();

}  // namespace dbench::algorithms
