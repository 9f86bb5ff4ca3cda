#pragma once
// Algorithms whose replicas do not wait for each other. In one turn a replica takes a snapshot of
// its parameters, computes the gradient at the snapshot, averages with the replicas that the
// algorithm names, and applies the gradient. Other replicas may change its parameters meanwhile.
// These classes serve both virtual time (LocalPeers, Timeline: all replicas in one process) and
// real time (RankPeers: one replica per rank).

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace dbench::algorithms {

/// An iteration of one replica, by the replica's own count.
struct Turn {
    int64_t replica, iteration;
    bool operator==(const Turn&) const = default;
};

/// A replica's access to the other replicas, at the end of a gradient.
class Peers {
public:
    virtual ~Peers() = default;
    /// Computes x_i, x_j <- (x_i + x_j) / 2 from the current values of both, atomically.
    virtual void average(int64_t i, int64_t j) = 0;
    /// Returns the number of averagings in which x_i took part since its snapshot.
    virtual int64_t averagings(int64_t i) const = 0;
    /// Computes x_i <- sum over the links of weight times row. The row is the last snapshot that
    /// has arrived from the link's peer; it is x_i for i itself and for peers from which nothing
    /// has arrived.
    virtual void mix(int64_t i, const std::vector<graphs::Link>& links) = 0;
    /// Returns the iteration of the oldest snapshot in the last `mix` of x_i, including i's own.
    virtual int64_t oldest(int64_t i) const = 0;
};

/// Duration of a gradient in virtual time, see ComputeTimes. Its members are the keys of every
/// asynchronous algorithm.
struct Pace {
    double seconds = 1;  ///< Mean duration.
    double jitter = 0;   ///< Largest relative deviation from the mean.

    static const base::Section<Pace>& section();
};

/// Base class of asynchronous algorithms. Stepper::advance calls it turn by turn.
class Asynchronous : public Algorithm {
public:
    Asynchronous(const Pace& pace, const AlgorithmContext& context)
        : schedule_(context.schedule), replicas_(context.replicas), pace_(pace) {}

    /// Averages at the end of a turn: after the gradient, which was computed at the snapshot, and
    /// before x_i <- x_i - lr d.
    virtual void average(const Turn& turn, Peers& peers) const = 0;
    /// Returns the staleness of the gradient when it is applied: how many changes it does not know
    /// of.
    virtual int64_t staleness(const Turn& turn, const Peers& peers) const = 0;
    /// Returns the replica with which the turn's replica requests an averaging at the end of the
    /// turn; -1: none. Always -1 if `sends_snapshots`.
    virtual int64_t requested_partner(const Turn& turn) const = 0;
    /// True if every snapshot is sent, when it is taken, to all replicas that use it.
    virtual bool sends_snapshots() const = 0;

    void declare(arena::StateTable& state) override;
    Asynchronous* asynchronous() override { return this; }

    /// The parameters at which each local replica computes its gradient.
    arena::Rows snapshots() const { return snapshots_.rows(); }
    /// Seconds from the run's start to the last barrier at which all replicas waited.
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

}  // namespace dbench::algorithms
