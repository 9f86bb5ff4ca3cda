#pragma once
// The processes of a run, seen from one rank. The launcher (transport/launcher.hpp) makes the
// transports that connect the ranks and passes them to World.
//
// This folder waits for other ranks and detects failures. World offers small collectives for
// set-up. control_messages.hpp reports failures and finds out which rank holds up a wait.
// long_work.hpp lets ranks wait for another rank's long work. engine.hpp moves operations in flight
// on the progress thread.
// common_clock.hpp compares the clocks of ranks; exchange_trace.hpp adds exchanges to the trace.
// collective.hpp and background_collective.hpp implement the collectives. link_speed.hpp measures
// the network.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/failures.hpp"
#include "comm/transport/membership.hpp"
#include "comm/world/wait_times.hpp"

namespace dbench::comm {

/// One rank's place among the ranks of the run. The main thread owns it and calls it.
class World {
public:
    /// Takes over this rank's transports. Throws UserError if DBENCH_TIMEOUT or DBENCH_STOP_TIMEOUT
    /// is not a positive number of seconds.
    explicit World(Membership member);
    /// Leaves the group of ranks, together with all others. After a failure it does not wait for
    /// them.
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    int rank() const;
    int size() const;
    int local_rank() const;  ///< Number among the ranks of this host.
    int local_size() const;
    const std::string& host() const;
    /// This rank's number at the launcher; differs from rank() only after `renumber`.
    int slot() const;
    const arena::Place& place() const;  ///< The place where this rank computes.
    /// Sets the place where this rank computes. Waits for its queues then behave like waits for
    /// ranks: they have a deadline and, on the calling thread, check for failures. The queues must
    /// outlive this World or the next compute_on. Requires that no object made with this World (an
    /// Exchange, for example) exists.
    void compute_on(const arena::Place& place);

    /// Gives the ranks new numbers: rank r becomes the process that the launcher numbered slots[r],
    /// a permutation. Empty `slots` restore the launcher's numbers. Collective, with the same slots
    /// on all ranks. Requires that no object made with this World exists.
    void renumber(std::vector<int> slots);

    /// Replaces the row transport. `rows` connects the same processes under the launcher's numbers;
    /// null restores the launcher's own transport. Collective. Requires that no object made with
    /// this World exists.
    void use_row_transport(std::unique_ptr<RowTransport> rows);

    // Collectives for set-up and recording. Every rank calls them in the same order. They wait as
    // all waits do: with a deadline, checks for failures, and without occupying the CPU core.
    void barrier();
    /// Sends rank 0's text to all ranks, in `text`.
    void broadcast(std::string& text);
    /// Returns the texts of all ranks, in rank order: on rank 0 (empty on others), or on all ranks.
    std::vector<std::string> gather(const std::string& bytes);
    std::vector<std::string> all_gather(const std::string& bytes);
    /// Adds the values of all ranks element by element, in rank order. All ranks get the result.
    void sum(std::vector<double>& values);

    /// Ends a set-up step that must succeed on every rank. Each rank passes its own error ("" for
    /// none) and whether it is a user error. If any rank failed, all ranks throw the error of the
    /// lowest such rank (UserError or RunError; the text names the rank unless it is 0).
    /// Collective.
    void agree(const std::string& error, bool user_error);

    /// Returns the seconds that a wait may take before it throws Stalled (environment variable
    /// DBENCH_TIMEOUT, 600 by default).
    double deadline() const;
    /// Returns the time that this rank has spent in waits and in the sums of exchanges. The
    /// reference remains valid until the next `renumber` or `use_row_transport`.
    const WaitTimes& wait_times() const;
    /// Returns the CPU time of the thread that moves messages; 0 if there is none.
    double progress_seconds();

    /// Reports to rank 0 that this rank failed, and why; then waits so that rank 0 can close the
    /// result file: up to stop_timeout(), because rank 0 reads the report only between two steps of
    /// its work. `user_error`: the cause is a UserError, such as a damaged file.
    void report_failure(const std::string& message, bool user_error = false);
    /// On rank 0: throws PeerFailure if another rank has reported a failure. Cheap; called once per
    /// iteration.
    void check_failures();
    /// Call repeatedly while this rank waits for itself, such as for a batch, since `began` on the
    /// clock of base::now(). Throws as check_failures does; with several ranks also Stalled, if a
    /// signal asked the rank to stop and it has waited for DBENCH_STOP_TIMEOUT since then. `what`
    /// names the wait.
    void check_own_wait(const std::string& what, double began);
    /// Delays this rank by `seconds`, like slow computation: exchanges continue meanwhile. A signal
    /// ends the delay early. Returns the seconds that it took, at most `seconds`. Throws as
    /// check_failures does.
    double pause(double seconds);
    /// Ends all ranks at once with this exit status.
    [[noreturn]] void abort(int status);

    struct Impl;
    Impl& impl() { return *impl_; }  ///< for this module

private:
    /// Makes the queues forget this World; they may outlive it.
    void leave_queues();

    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::comm
