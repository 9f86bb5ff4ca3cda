#pragma once
// ControlMessages between ranks, beside all messages: that a rank has failed, and, when a wait
// takes too long, who waits for whom. Internal to this room.

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

class ControlMessages {
public:
    ControlMessages(ControlTransport& control, int rank, int size);

    /// Takes what has come: a question is answered with whom this rank waits for; why another rank
    /// failed is returned. Never blocks. Throws RunError where the transport has failed.
    std::optional<ControlMessage> take();

    /// While one lives, this rank waits for the ranks that `owing` names (none: not known which).
    class Waiting {
    public:
        Waiting(ControlMessages& control_messages, const std::function<std::vector<int>()>& owing);
        ~Waiting();

    private:
        ControlMessages& messages_;
        const std::function<std::vector<int>()>* before_;
    };

    /// Asks those who owe this rank something whom they wait for, then those, and so on, until all
    /// have answered or none has for two seconds. Ends early when `done`. Calls `check` meanwhile.
    Blame ask(const std::function<bool()>& done, const std::function<void()>& check);

    /// Tells rank 0 that this one has failed, for `seconds`. Where that is because of others, it
    /// goes on to answer those who ask.
    void report_failure(const std::string& message, double seconds);

private:
    struct Answer {
        bool waiting = false;
        std::vector<int> owing;  ///< none: not known
    };
    struct Sent {
        std::string text;
        std::unique_ptr<Transfer> transfer;
    };

    void post();
    void send(int to, std::string text);
    void answer(int to);
    std::vector<int> owing() const;
    Blame blame(const std::set<int>& asked) const;

    ControlTransport& control_;
    int rank_, size_;
    const std::function<std::vector<int>()>* waiting_ = nullptr;
    std::map<int, Answer> answers_;
    std::optional<std::vector<int>> stalled_on_;  ///< after a wait that took too long
    std::list<Sent> sent_;
};

}  // namespace dbench::comm
