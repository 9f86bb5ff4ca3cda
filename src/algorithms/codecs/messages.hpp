#pragma once
// Sends compressed rows: each local replica's row is encoded once and sent to all its neighbours.

#include <initializer_list>
#include <memory>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/codecs/codec.hpp"

namespace dbench::algorithms {

/// A sum of messages: rows_i += own Q(v_i) + mixed sum_j w_ij Q(v_j), in all columns.
struct MessageSum {
    arena::Rows rows;
    double own, mixed;
};

/// Sends and receives one message per replica, iteration and `part`, within one iteration.
class CompressedMessages {
public:
    CompressedMessages(const AlgorithmContext& context, int part = 0);

    /// Allocates the messages' memory.
    void declare(arena::StateTable& state) { messages_ = state.scratch(stride_); }
    /// Returns the bytes of one replica's message.
    int64_t bytes() const { return coder_->bytes(); }

    /// Encodes v and starts to send Q(v) to all replicas that use it by the round's matrix. The
    /// caller may overwrite v at once.
    void send(Step& step, arena::Rows v);
    /// Waits for the neighbours' messages and adds them to each target.
    void receive(Step& step, std::initializer_list<MessageSum> into);

private:
    MessageSet set(const Step& step) const { return {seed_, step.t, part_}; }

    std::unique_ptr<Coder> coder_;
    uint64_t seed_;
    int part_;
    int64_t stride_;
    arena::Buffer messages_;
    comm::Token token_;
};

/// Base of algorithms that send compressed messages over the links of the round's matrix.
class CompressingAlgorithm : public Algorithm {
public:
    explicit CompressingAlgorithm(const AlgorithmContext& context)
        : cost_(context.schedule, comm::link_cost), messages_(context) {}

    void declare(arena::StateTable& state) override { messages_.declare(state); }
    Sent sent(int64_t, graphs::Round round) const override { return messages_sent(round, 1); }

protected:
    /// Returns the cost of `count` messages over each link.
    Sent messages_sent(graphs::Round round, int count) const {
        const comm::RoundCost& cost = cost_.at(round);
        const auto messages = static_cast<double>(count * cost.messages);
        return {cost.averages,
                cost.averages ? 1 : 0,
                cost.degree,
                count * cost.messages,
                0,
                0,
                messages * static_cast<double>(messages_.bytes())};
    }
    /// True if the round's matrix is not the identity.
    bool averages(graphs::Round round) const { return cost_.at(round).averages; }
    CompressedMessages& messages() { return messages_; }

private:
    MixingCost cost_;
    CompressedMessages messages_;
};

}  // namespace dbench::algorithms
