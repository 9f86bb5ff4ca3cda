#pragma once
// The data members of World and the waits that the other folders of comm use.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/transport/membership.hpp"
#include "comm/world/collective.hpp"
#include "comm/world/control_messages.hpp"
#include "comm/world/engine.hpp"
#include "comm/world/wait_times.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {

/// The state of a World: its transports, the engine and the counters that give tags to exchanges.
/// Only the main thread changes it. The progress thread may call `wait`, `rank`, `size`, `rows` and
/// `service_tag`.
struct World::Impl {
    Membership member;
    ControlMessages control_messages;
    Engine engine;  // destroyed before the transports that its operations use
    /// The launcher's row transport while another one carries rows.
    std::unique_ptr<RowTransport> launched_rows;
    double deadline;
    bool failed = false;  ///< True if some rank may be dead: wait for no rank any more.
    /// Number of collectives begun; equal on all ranks at equal points of the program.
    uint64_t collectives = 0;
    uint64_t exchanges = 0;  ///< Number of exchanges begun; equal likewise.
    WaitTimes times;

    explicit Impl(Membership member);

    int rank() const { return member.rank; }
    int size() const { return member.size; }
    RowTransport& rows() { return *member.rows; }
    ControlTransport& control() { return *member.control; }
    /// Returns the tag of the next exchange of rows. All ranks start their exchanges in the same
    /// order.
    int next_exchange() { return tag(exchanges++, rows().tags() - kServiceTags); }
    /// Returns the tag of the next collective on the control transport.
    int next_collective() { return tag(collectives++, control().tags()); }
    /// Returns a tag of the row transport that no exchange uses, for k = 0 .. kServiceTags - 1.
    int service_tag(int k) { return rows().tags() - kServiceTags + k; }

    /// See World::check_failures.
    void check_failures();
    /// Waits until `done`; throws as comm::wait does. All waits of this module for other ranks go
    /// through it. `seconds` 0: the run's deadline. `bucket`: for the trace. On the progress thread
    /// it handles no control messages, and throws RunError once the engine is halted.
    void wait(const std::string& what, const std::function<bool()>& done,
              const std::function<std::vector<int>()>& awaited_ranks, double seconds = 0,
              int64_t bucket = -1);
    /// Counts a wait that began at `begin` and has ended now. `rank`: see
    /// WaitTimes::awaited_rank; -1: not known.
    void waited_since(double begin, int rank, int64_t bucket);
    /// Sends and receives messages on a transport, and waits for all of them.
    void move(const std::string& what, Transport& transport, std::span<const Message> out,
              std::span<const Message> in, double seconds = 0);
    /// Waits for an operation in flight, whether or not it is in the engine's list.
    void wait(const std::string& what, OperationInFlight& operation);

    /// Makes the next collective. All ranks make theirs in the same order.
    std::shared_ptr<Collective> collective(Collective::Direction direction, std::string text,
                                           Collective::Answer answer = nullptr);
    /// Waits for a collective, whether or not it is in the engine's list. `seconds` 0: the run's
    /// deadline.
    void wait(const std::string& what, const std::shared_ptr<Collective>& collective,
              double seconds = 0);

    // Blocking collectives. `what` names them in errors.
    std::vector<std::string> gather(const std::string& what, const std::string& bytes);
    void broadcast(const std::string& what, std::string& bytes);
    /// Gathers all texts, and returns on every rank the text that rank 0 computes from them with
    /// `answer`.
    std::string answer(const std::string& what, const std::string& bytes, Collective::Answer answer,
                       double seconds = 0);

private:
    static constexpr int kServiceTags = 2;
    static int tag(uint64_t number, int tags) {
        return static_cast<int>(number % static_cast<uint64_t>(tags));
    }
};

}  // namespace dbench::comm
