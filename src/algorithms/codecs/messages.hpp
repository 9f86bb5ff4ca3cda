#pragma once
// Rows that travel compressed: each local replica's, tensor by tensor, to its neighbours.

#include <initializer_list>
#include <memory>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/codecs/codec.hpp"

namespace dbench::algorithms {

/// rows_i += own Q(v_i) + mixed sum_j w_ij Q(v_j), in all columns.
struct Heeding {
    arena::Rows rows;
    double own, mixed;
};

/// One message per replica, iteration and `part`; sent and heard in the same iteration.
class CompressedMessages {
public:
    CompressedMessages(const AlgorithmContext& context, int part = 0);

    void declare(arena::StateTable& state) { messages_ = state.scratch(stride_); }
    /// Bytes of one replica's message.
    int64_t bytes() const { return coder_->bytes(); }

    /// Q(v) goes to all who use it by the round's matrix; v may be written at once.
    void send(Step& step, arena::Rows v);
    /// Waits for the neighbours', and adds them.
    void hear(Step& step, std::initializer_list<Heeding> into);

private:
    MessageSet set(const Step& step) const { return {seed_, step.t, part_}; }

    std::unique_ptr<Coder> coder_;
    uint64_t seed_;
    int part_;
    int64_t stride_;
    arena::Buffer messages_;
    comm::Token token_;
};

/// Algorithms that send compressed messages over the links of the round's matrix.
class Compressing : public Algorithm {
public:
    explicit Compressing(const AlgorithmContext& context)
        : cost_(context.schedule, comm::link_cost), messages_(context) {}

    void declare(arena::StateTable& state) override { messages_.declare(state); }
    Sent sent(int64_t, graphs::Round round) const override { return messages_sent(round, 1); }

protected:
    Sent messages_sent(graphs::Round round, int count) const {
        const comm::RoundCost& cost = cost_.of(round);
        const auto messages = static_cast<double>(count * cost.messages);
        return {cost.averages,
                cost.averages ? 1 : 0,
                cost.degree,
                count * cost.messages,
                0,
                0,
                messages * static_cast<double>(messages_.bytes())};
    }
    /// Whether the round's matrix is not the identity.
    bool averages(graphs::Round round) const { return cost_.of(round).averages; }
    CompressedMessages& messages() { return messages_; }

private:
    MixingCost cost_;
    CompressedMessages messages_;
};

}  // namespace dbench::algorithms
