// PowerGossip (Vogels, Karimireddy and Jaggi 2020, arXiv 2008.01425; code: epfml/powergossip): both
// ends i < j of a link know a rank-1 matrix p q' that approximates the difference of their
// parameters. p and q are computed alternately from each other, which is a power iteration. Each
// tensor is a matrix H with one row per index of its first dimension. After h = x - lr d(g(x)):
//
//     odd t    q <- q / ||q||;   p <- H_i q - H_j q
//     even t   p <- p / ||p||;   q <- H_i' p - H_j' p
//     X_i <- H_i - w_ij p q';   X_j <- H_j + w_ij p q'
//
// Iteration 0 exchanges nothing, because replicas with equal starts have only begun to differ. A
// vector of zeros (the initial value) is replaced by uniform random numbers, keyed by link,
// iteration and tensor. Tensors with one dimension are sent uncompressed: x_i <- h_i + w_ij (h_j -
// h_i). The mean moves as without compression, because W is symmetric.
//
// * State: p and q of each link.
// * Sends: H q (odd t) or H' p (even t) and the one-dimensional tensors over each link, after
//   backward.
// * Requires: an undirected graph that does not change, symmetric W; no codec applies.

#include <algorithm>
#include <utility>

#include "algorithms/entries.hpp"
#include "arena/messages/link_matrices.hpp"
#include "base/error.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {
namespace {

class PowerGossip final : public Algorithm {
public:
    explicit PowerGossip(const AlgorithmContext& context)
        : schedule_(*context.schedule),
          cost_(context.schedule, comm::link_cost),
          seed_(context.compression.seed),
          element_(arena::size_of(context.type)),
          matrices_(*context.layout, context.type) {
        for (int i = 0; i < schedule_.size(); ++i) {
            const std::vector<int> users = peers(schedule_.out(schedule_.at(0), i), i);
            degree_ = std::max(degree_, static_cast<int64_t>(users.size()));
            if (users == peers(schedule_.in(schedule_.at(0), i), i)) continue;
            throw base::UserError(
                "/graph: replica " + std::to_string(i) +
                " receives from other replicas than it sends to (powergossip computes with both "
                "ends of each link): choose an undirected graph, for example ring or torus");
        }
    }

    void declare(arena::StateTable& state) override {
        const auto stride = [&](int64_t each) { return std::max<int64_t>(degree_ * each, 1); };
        p_ = state.rows("algorithm/p", stride(matrices_.all(arena::LinkFactor::p)));
        q_ = state.rows("algorithm/q", stride(matrices_.all(arena::LinkFactor::q)));
        messages_ = state.scratch(stride(std::max(matrices_.elements(arena::LinkFactor::p),
                                                  matrices_.elements(arena::LinkFactor::q))));
    }

    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (step.t > 0 && degree_ > 0) {
            const TimedScope scope(step.timers, Time::exchange);
            average(step);
        }
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        if (t == 0) return {};
        const comm::RoundCost& cost = cost_.at(round);
        const double bytes = static_cast<double>(cost.messages * message_bytes(t));
        return {cost.averages, cost.averages ? 1 : 0, cost.degree, cost.messages, 0, 0, bytes};
    }

private:
    static std::vector<int> peers(const std::vector<graphs::Link>& links, int self) {
        std::vector<int> out;
        for (const graphs::Link& link : links) {
            if (link.peer != self) out.push_back(link.peer);
        }
        return out;
    }
    static arena::LinkFactor computed_in(int64_t t) {
        return t % 2 == 1 ? arena::LinkFactor::p : arena::LinkFactor::q;
    }
    int64_t message_bytes(int64_t t) const { return matrices_.elements(computed_in(t)) * element_; }

    void average(Step& step) {
        const arena::LinkFactor computed = computed_in(step.t);
        const arena::Rows known = computed == arena::LinkFactor::p ? q_ : p_;
        constexpr auto kPurpose = base::Purpose::message;
        const arena::Draws draws{.root = base::Random(seed_, kPurpose).key(),
                                 .purpose = static_cast<uint32_t>(kPurpose),
                                 .iteration = step.t};
        matrices_.send(step.x, known, computed, links(step), draws, messages_.rows(), step.queue);
        comm::Token token = step.exchange.start_link_messages(
            step.round, messages_.rows(), message_bytes(step.t), comm::MessageWriter::queue);
        const auto arrived = step.exchange.finish_messages(token);
        std::vector<std::vector<arena::ReceivedOverLink>> received(arrived.size());
        for (size_t i = 0; i < arrived.size(); ++i) {
            const int64_t self = step.x.first + static_cast<int64_t>(i);
            for (const comm::UsedMessage& one : arrived[i]) {
                received[i].push_back({one.message, one.weight, self < one.replica});
            }
        }
        matrices_.take(step.x, p_, q_, computed, received, messages_.rows(), step.queue);
        arena::keep(step.queue, std::exchange(token, nullptr));
    }
    /// Returns the links of all local replicas, in the order of their messages.
    std::vector<arena::MatrixLink> links(const Step& step) const {
        std::vector<arena::MatrixLink> all;
        for (int64_t i = 0; i < step.x.count; ++i) {
            const auto self = static_cast<int>(step.x.first + i);
            int64_t number = 0;
            for (const int peer : peers(schedule_.out(step.round, self), self)) {
                all.push_back({i, number++, std::min(self, peer), std::max(self, peer)});
            }
        }
        return all;
    }

    const graphs::Schedule& schedule_;
    MixingCost cost_;
    uint64_t seed_;
    int64_t element_, degree_ = 0;
    arena::LinkMatrices matrices_;
    arena::Rows p_, q_;
    arena::Buffer messages_;
};

std::unique_ptr<Algorithm> make_powergossip(const base::NoKeys&, const AlgorithmContext& context) {
    return std::make_unique<PowerGossip>(context);
}

}  // namespace

AlgorithmEntry powergossip_entry() {
    return {"powergossip",
            "rank-1 approximations of the differences over each link (PowerGossip)",
            make_powergossip,
            {.graph = GraphNeed::symmetric,
             .sequences = false,
             .messages = Messages::own,
             .replica_change = ReplicaChange::never,
             .bias = Bias::none}};
}

}  // namespace dbench::algorithms
