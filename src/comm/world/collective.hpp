#pragma once  // Private to comm/world.
// A collective on texts of any length. World waits for it; BackgroundCollective lets it run while
// the program computes.
//
// Texts move along a binomial tree of ceil(log2 r) steps. Upwards a rank receives from at most
// ceil(log2 r) children and sends once to its parent; downwards the reverse.
// docs/decisions/0020-own-collectives.md says why DBench does not use MPI's collectives.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/transport/control_transport.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

/// One collective as an operation in flight: a list of steps, each of which starts one transfer.
class Collective : public OperationInFlight {
public:
    /// `up`: every rank's text to rank 0. `down`: rank 0's text to all. `both`: `up`, then rank 0's
    /// answer to all texts.
    enum class Direction : uint8_t { up, down, both };
    using Answer = std::function<std::string(const std::vector<std::string>&)>;

    /// This rank's place in the tree, and the tag of the collective.
    struct Endpoint {
        ControlTransport& transport;
        int rank, size, tag;
    };

    /// `text` matters only on rank 0 if the direction is `down`. `answer` is used only with `both`.
    Collective(const Endpoint& endpoint, Direction direction, std::string text,
               Answer answer = nullptr);

    /// True if all texts from the ranks below this one in the tree have arrived.
    bool gathered() const { return gathered_.load(std::memory_order_acquire); }
    int steps_up() const;  ///< Steps to the most distant rank below this one.
    /// Steps from rank 0's answer, at most; 0 if this rank receives nothing.
    int steps_down() const;

    // Results, once the collective is done:
    std::vector<std::string>& texts() { return texts_; }  ///< On rank 0, after the way up.
    std::string& text() { return text_; }                 ///< The text that came down.

protected:
    bool advance() override;
    std::vector<int> awaited_ranks() const override;

private:
    using Step = void (Collective::*)();
    // The steps, in their order. A text travels as one packet and, if it is longer, a rest
    // (collectives.cpp).
    void receive_from_children();
    void receive_rests_from_children();
    void send_to_parent();
    void receive_from_parent();
    void receive_rest_from_parent();
    void send_to_children();

    /// Starts the transfer of a step, if it has messages.
    void start(std::vector<Message> out, std::vector<Message> in);
    Message message(int rank, std::string& bytes) const;
    /// Adds the part of `text` that does not fit in the packet.
    void add_rest(std::vector<Message>& messages, int rank, std::string& text) const;

    const Endpoint endpoint_;
    const Direction direction_;
    const int bit_;  ///< The rank's lowest one bit. The parent's rank is this rank without it.
    std::vector<int> children_;  ///< Ranks that send their texts to this one.
    Answer answer_;
    std::vector<Step> steps_;
    size_t next_ = 0;
    std::unique_ptr<Transfer> transfer_;  ///< Transfer of the last step.
    std::vector<std::string> parts_, texts_;
    std::string text_, packet_;
    std::atomic<bool> gathered_ = false;
};

}  // namespace dbench::comm
