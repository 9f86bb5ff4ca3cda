#pragma once
// Transports that count the messages that they forward.

#include <atomic>

#include "comm/forwarding_transports.hpp"

namespace dbench::comm::tests {

/// Messages and bytes that one rank, or all ranks together, have sent on a transport.
struct Traffic {
    std::atomic<int64_t> messages = 0, bytes = 0;
};

/// Counts what is sent. `Forwarding`: ForwardingRows or ForwardingControl.
template <class Forwarding>
class CountingTransport : public Forwarding {
public:
    CountingTransport(std::unique_ptr<typename Forwarding::Kind> inner, Traffic& traffic)
        : Forwarding(std::move(inner)), traffic_(traffic) {}

    std::unique_ptr<Transfer> start(std::span<const Message> out,
                                    std::span<const Message> in) override {
        for (const Message& message : out) {
            ++traffic_.messages;
            traffic_.bytes += message.bytes;
        }
        return Forwarding::start(out, in);
    }

private:
    Traffic& traffic_;
};

using CountingRows = CountingTransport<ForwardingRows>;
using CountingControl = CountingTransport<ForwardingControl>;

}  // namespace dbench::comm::tests
