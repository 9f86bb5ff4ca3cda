#pragma once
// The transport of control: small things that all ranks wait for (the texts of World's collectives,
// by `start`), failures, and the end. It must work when rows do not move any more.

#include <memory>
#include <optional>
#include <string>

#include "comm/transport/transport.hpp"

namespace dbench::comm {

/// A text that nobody asked for.
struct ControlMessage {
    int rank;  ///< who wrote it
    std::string text;
};

class ControlTransport : public Transport {
public:
    static constexpr size_t kLongestControlMessage = 4000;  ///< leaves without the receiver's help

    /// Starts to send a message, apart from all messages; `text` stays as a message's memory does.
    virtual std::unique_ptr<Transfer> start_control_message(int to, const std::string& text) = 0;
    /// Takes a message that has come, if any. Never blocks. Throws RunError.
    virtual std::optional<ControlMessage> take_control_message() = 0;

    /// Ends all ranks now, whatever they and other threads of this one are doing.
    [[noreturn]] virtual void abort(int status) = 0;
};

}  // namespace dbench::comm
