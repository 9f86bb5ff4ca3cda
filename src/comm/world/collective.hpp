#pragma once
// A collective on texts of any length, under way. Internal to this room: World waits for it,
// Collection does not.
//
// It goes along a binomial tree of ceil(log2 r) steps: up, a rank receives from at most ceil(log2
// r) others and sends once; down, the other way round. Why these and not MPI's:
// docs/decisions/0020-own-collectives.md.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/transport/control_transport.hpp"
#include "comm/world/engine.hpp"

namespace dbench::comm {

class Collective : public Pending {
public:
    /// Which halves there are: every rank's text to rank 0, rank 0's text to all, or the first and
    /// then what rank 0 answers to all texts.
    enum class Way : uint8_t { up, down, both };
    using Answer = std::function<std::string(const std::vector<std::string>&)>;

    struct Place {
        ControlTransport& transport;
        int rank, size, tag;
    };

    /// Of the texts only rank 0's matters where the way is down; `answer` only where it is both.
    Collective(const Place& place, Way way, std::string text, Answer answer = nullptr);

    /// Whether the ranks below this one in the tree have said all.
    bool gathered() const { return gathered_.load(std::memory_order_acquire); }
    int steps_up() const;    ///< how far the farthest of these is
    int steps_down() const;  ///< how far what comes down is from its cause; 0 where nothing comes

    // Once it is done:
    std::vector<std::string>& texts() { return texts_; }  ///< on rank 0, after the way up
    std::string& text() { return text_; }                 ///< what has come down

protected:
    bool advance() override;
    std::vector<int> owing() const override;

private:
    using Step = void (Collective::*)();
    void receive_beginnings();
    void receive_ends();
    void hand_up();
    void hear_beginning();
    void hear_end();
    void tell();

    void start(std::vector<Message> out, std::vector<Message> in);
    Message message(int rank, std::string& bytes) const;
    void add_rest(std::vector<Message>& messages, int rank, std::string& text) const;

    const Place place_;
    const Way way_;
    const int bit_;              ///< the rank's lowest one bit: the parent is without it
    std::vector<int> children_;  ///< who hands up
    Answer answer_;
    std::vector<Step> steps_;
    size_t next_ = 0;
    std::unique_ptr<Transfer> transfer_;  ///< of the last step
    std::vector<std::string> parts_, texts_;
    std::string text_, packet_;
    std::atomic<bool> gathered_ = false;
};

}  // namespace dbench::comm
