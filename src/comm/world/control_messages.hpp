#pragma once  // Private to comm/world.
// Control messages between ranks, independent of all row messages. They report that a rank has
// failed or makes progress in long work, and they find out which rank waits for which when a wait
// exceeds its deadline. Internal to this module.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "comm/transport/control_transport.hpp"
#include "comm/wait.hpp"

namespace dbench::comm {

/// Sends and answers one rank's control messages. Only the main thread may call it.
class ControlMessages {
public:
    ControlMessages(ControlTransport& control, int rank, int size);

    /// Reads the messages that have arrived. Answers questions with the ranks that this rank waits
    /// for. Returns a message that reports another rank's failure, if there is one. Never blocks.
    /// Throws RunError if the transport has failed.
    std::optional<ControlMessage> take();

    /// While an object of this class exists, this rank answers that it waits for the ranks that
    /// `awaited_ranks` returns (empty: unknown ranks).
    class Waiting {
    public:
        Waiting(ControlMessages& control_messages,
                const std::function<std::vector<int>()>& awaited_ranks);
        ~Waiting();

    private:
        ControlMessages& messages_;
        const std::function<std::vector<int>()>* before_;
    };

    /// Finds the cause of a stalled wait: queries the awaited ranks for the ranks that they wait
    /// for, then those ranks, and so on, until all have answered or no answer has come for two
    /// seconds. Returns early if `done` becomes true. Calls `check` at intervals.
    StallDiagnosis diagnose_stall(const std::function<bool()>& done,
                                  const std::function<void()>& check);

    /// Tells all other ranks that this rank makes progress in work for which they may wait.
    void tell_progress();
    /// Returns the time at which `take` last read such a message; 0 if it has read none.
    double last_progress() const { return last_progress_; }

    /// Reports this rank's failure to rank 0 and stays for `seconds` to deliver the report. If
    /// other ranks caused the failure, also answers questions meanwhile.
    void report_failure(const std::string& message, double seconds);

private:
    /// The answer of a rank to a question.
    struct Answer {
        bool waiting = false;
        std::vector<int> awaited_ranks;  ///< Empty: unknown.
    };
    /// A message that is being sent.
    struct Sent {
        std::string text;
        std::unique_ptr<Transfer> transfer;
    };

    /// Drops messages that have been sent.
    void drop_sent();
    /// Starts to send a message.
    void send(int to, std::string text);
    /// Answers a question: this rank computes, or waits for certain ranks.
    void answer(int to);
    /// Returns the ranks for which the current wait of this rank is waiting.
    std::vector<int> awaited_ranks() const;
    /// Concludes from the answers which of the queried ranks hold up the others.
    StallDiagnosis diagnosis(const std::set<int>& asked) const;

    ControlTransport& control_;
    int rank_, size_;
    /// Set by Waiting; null while this rank computes.
    const std::function<std::vector<int>()>* waiting_ = nullptr;
    std::map<int, Answer> answers_;
    /// The awaited ranks of a wait that exceeded its deadline.
    std::optional<std::vector<int>> stalled_on_;
    double last_progress_ = 0;
    std::list<Sent> sent_;
};

}  // namespace dbench::comm
