#pragma once
// The control transport carries small texts: those of World's collectives (by `start`), control
// messages, and the end of the run. It must work even if rows do not move any more.

#include <memory>
#include <optional>
#include <string>

#include "comm/transport/transport.hpp"

namespace dbench::comm {

/// A text that arrives without a matching receive.
struct ControlMessage {
    int rank;  ///< The sender.
    std::string text;
};

/// A transport for texts and control messages.
class ControlTransport : public Transport {
public:
    /// Bytes. A message of this length is sent even if the receiver does not receive.
    static constexpr size_t kLongestControlMessage = 4000;

    /// Starts to send a control message, separate from all other messages. `text` must remain valid
    /// and unchanged until the transfer is done.
    virtual std::unique_ptr<Transfer> start_control_message(int to, const std::string& text) = 0;
    /// Returns a control message that has arrived, if any. Never blocks. Throws RunError if the
    /// transport has failed.
    virtual std::optional<ControlMessage> take_control_message() = 0;

    /// Ends all ranks at once, whatever they and the other threads of this rank are doing.
    [[noreturn]] virtual void abort(int status) = 0;
};

}  // namespace dbench::comm
