#pragma once
// What a World is made of, for this room.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/engine.hpp"
#include "comm/transport.hpp"
#include "comm/world.hpp"

namespace dbench::comm {

struct World::Impl {
    std::unique_ptr<Transport> transport;
    std::unique_ptr<Engine> engine;
    std::string host;
    int local_rank = 0, local_size = 1;
    double deadline = 0;
    bool failed = false;       ///< some rank may be dead: wait for nobody any more
    uint64_t collectives = 0;  ///< begun so far, the same number on all ranks
    uint64_t exchanges = 0;

    int rank() const { return transport->rank(); }
    int size() const { return transport->size(); }
    int tag(uint64_t number) const {
        return static_cast<int>(number % static_cast<uint64_t>(transport->tags()));
    }

    void check_failures();
    /// The wait of this room; `seconds` 0: the run's deadline.
    void wait(const std::string& what, const std::function<bool()>& done,
              const std::function<std::vector<int>()>& owing, double seconds = 0);
    /// Sends and receives, and waits for both.
    void move(const std::string& what, Channel channel, std::span<const Message> out,
              std::span<const Message> in, double seconds = 0);
    /// Waits for an operation in the engine's care.
    void wait(const std::string& what, Pending& operation);

    // Collectives by point-to-point messages, so that a wait knows who is missing; `what` names
    // them in errors. Set-up and records only: rank 0 receives from everybody.
    std::vector<std::string> gather(const std::string& what, const std::string& bytes,
                                    double seconds = 0);
    void broadcast(const std::string& what, std::string& bytes, double seconds = 0);
};

}  // namespace dbench::comm
