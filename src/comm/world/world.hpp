#pragma once
// The processes of a run. What connects them is made elsewhere (launcher.hpp) and given to World.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/failures.hpp"
#include "comm/transport/membership.hpp"

namespace dbench::comm {

class World {
public:
    /// Takes this rank's transports. Throws UserError where a limit of waiting in the environment
    /// is no number of seconds.
    explicit World(Membership member);
    ~World();  ///< leaves the group; after a failure it does not wait for peers
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    int rank() const;
    int size() const;
    int local_rank() const;  ///< among the ranks on this host
    int local_size() const;
    const std::string& host() const;
    int slot() const;  ///< this rank's number at the launcher: its rank, unless renumbered
    const arena::Queues& queues() const;  ///< where this rank computes
    /// It computes there from now on, and waits there as for other ranks: with the deadline, and on
    /// this thread with an ear for failures. The queues stay until it goes or computes elsewhere;
    /// nothing else that was made with it may still live.
    void compute_on(const arena::Queues& queues);

    /// Numbers the processes anew: rank r is the one that the launcher numbered slots[r], a
    /// permutation; empty: as the launcher did. Collective, with the same slots on all ranks;
    /// nothing else that was made with this world may still live.
    void renumber(std::vector<int> slots);

    /// Lets `rows`, a transport between the same processes, by the launcher's numbers, carry the
    /// rows; null: the launcher's own again. Collective, and nothing else as above may still live.
    void carry_rows(std::unique_ptr<RowTransport> rows);

    // Collectives for set-up and recording: every rank calls, in the same order. They wait through
    // `wait` below: deadline, failure channel, no busy core.
    void barrier();
    void broadcast(std::string& text);                          ///< rank 0's text to all
    std::vector<std::string> gather(const std::string& bytes);  ///< on rank 0 all, else empty
    std::vector<std::string> all_gather(const std::string& bytes);
    void sum(std::vector<double>& values);  ///< element-wise over ranks, in rank order, on all

    /// Set-up on which every rank must succeed: all ranks call with their own error ("" where all
    /// is well) and whether it is the user's; all throw the lowest failing rank's error (UserError
    /// or RunError, naming the rank if not 0), or none does.
    void agree(const std::string& error, bool user_error);

    /// Seconds a wait may take before Stalled is thrown (environment DBENCH_TIMEOUT, default 600).
    double deadline() const;

    // Failure of one rank while running.
    /// On the rank that failed: tells rank 0 why, gives it a few seconds to close the result file.
    /// `user_error`: by a UserError, such as a damaged file.
    void report_failure(const std::string& message, bool user_error = false);
    /// On rank 0: throws PeerFailure if a rank has reported. Cheap; called once an iteration.
    void check_failures();
    /// Holds this rank up for `seconds`, as slow computation does: exchanges go on meanwhile. A
    /// signal ends that early; throws as check_failures.
    void pause(double seconds);
    /// Ends all ranks now with this exit status.
    [[noreturn]] void abort(int status);

    struct Impl;
    Impl& impl() { return *impl_; }  ///< for this room

private:
    void leave_queues();

    std::unique_ptr<Impl> impl_;
};

}  // namespace dbench::comm
