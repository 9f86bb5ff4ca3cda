#pragma once
// What a World is made of, for this room.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/transport/membership.hpp"
#include "comm/world/collective.hpp"
#include "comm/world/control_messages.hpp"
#include "comm/world/engine.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {

struct World::Impl {
    Membership member;
    ControlMessages control_messages;
    Engine engine;  // goes before the transports that its operations use
    std::unique_ptr<RowTransport>
        launched_rows;  ///< the launcher's, while another transport carries rows
    double deadline;
    bool failed = false;       ///< some rank may be dead: wait for nobody any more
    uint64_t collectives = 0;  ///< begun so far, the same number on all ranks
    uint64_t exchanges = 0;    ///< alike

    explicit Impl(Membership member);

    int rank() const { return member.rank; }
    int size() const { return member.size; }
    RowTransport& rows() { return *member.rows; }
    ControlTransport& control() { return *member.control; }
    /// The tag of the next exchange of rows; all ranks start theirs in the same order.
    int next_exchange() { return tag(exchanges++, rows().tags() - kServiceTags); }
    /// A tag of rows that no exchange uses: 0 .. kServiceTags - 1.
    int service_tag(int k) { return rows().tags() - kServiceTags + k; }

    void check_failures();
    /// The wait of this room; `seconds` 0: the run's deadline.
    void wait(const std::string& what, const std::function<bool()>& done,
              const std::function<std::vector<int>()>& owing, double seconds = 0);
    /// Sends and receives on a transport, and waits for both.
    void move(const std::string& what, Transport& transport, std::span<const Message> out,
              std::span<const Message> in, double seconds = 0);
    /// Waits for an operation in the engine's care.
    void wait(const std::string& what, Pending& operation);

    /// The next collective; all ranks make theirs in the same order.
    std::shared_ptr<Collective> collective(Collective::Way way, std::string text,
                                           Collective::Answer answer = nullptr);
    /// Waits for one that is or is not in the engine's care; `seconds` 0: the run's deadline.
    void wait(const std::string& what, Collective& collective, double seconds = 0);

    // Collectives that are waited for; `what` names them in errors.
    std::vector<std::string> gather(const std::string& what, const std::string& bytes);
    void broadcast(const std::string& what, std::string& bytes);
    /// What rank 0 answers to all texts.
    std::string answer(const std::string& what, const std::string& bytes, Collective::Answer answer,
                       double seconds = 0);

private:
    static constexpr int kServiceTags = 2;
    static int tag(uint64_t number, int tags) {
        return static_cast<int>(number % static_cast<uint64_t>(tags));
    }
};

}  // namespace dbench::comm
