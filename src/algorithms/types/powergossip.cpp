// PowerGossip (Vogels, Karimireddy and Jaggi 2020, arXiv 2008.01425; code: epfml/powergossip): both
// ends i < j of a link know a matrix of rank 1, p q', near the difference of their parameters. In
// turn p and q are computed from the other, which is the power iteration. For every tensor, as a
// matrix with a row for each index of its first dimension, after h = x - lr d(g(x)):
//
//     odd t    q <- q / ||q||;   p <- H_i q - H_j q
//     even t   p <- p / ||p||;   q <- H_i' p - H_j' p
//     X_i <- H_i - w_ij p q';   X_j <- H_j + w_ij p q'
//
// Iteration 0 exchanges nothing: replicas that start alike have only begun to differ. A vector of
// zeros, as all are at first, is drawn anew, of uniform numbers by a key of link, iteration and
// tensor. Tensors of one dimension go as they are: x_i <- h_i + w_ij (h_j - h_i). The mean moves as
// without compression, W being symmetric. Each iteration sends H q or H' p and those tensors over
// each link; keeps p and q of each link.

#include <algorithm>
#include <nlohmann/json.hpp>
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
                " hears others than those who hear it, but powergossip computes with both ends of "
                "each link: choose an undirected graph such as ring or torus");
        }
    }

    void declare(arena::StateTable& state) override {
        const auto stride = [&](int64_t each) { return std::max<int64_t>(degree_ * each, 1); };
        p_ = state.rows("algorithm/p", stride(matrices_.all(arena::Found::p)));
        q_ = state.rows("algorithm/q", stride(matrices_.all(arena::Found::q)));
        messages_ = state.scratch(stride(
            std::max(matrices_.elements(arena::Found::p), matrices_.elements(arena::Found::q))));
    }
    bool keeps_messages() const override { return true; }

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
        const comm::RoundCost& cost = cost_.of(round);
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
    static arena::Found found(int64_t t) { return t % 2 == 1 ? arena::Found::p : arena::Found::q; }
    int64_t message_bytes(int64_t t) const { return matrices_.elements(found(t)) * element_; }

    void average(Step& step) {
        const arena::Found finds = found(step.t);
        const arena::Rows known = finds == arena::Found::p ? q_ : p_;
        constexpr auto kPurpose = base::Purpose::message;
        const arena::Draws draws{.root = base::Random(seed_, kPurpose).key(),
                                 .purpose = static_cast<uint32_t>(kPurpose),
                                 .iteration = step.t};
        matrices_.send(step.x, known, finds, links(step), draws, messages_.rows(), step.queue);
        comm::Token token = step.exchange.start_link_messages(
            step.round, messages_.rows(), message_bytes(step.t), comm::Made::on_queue);
        const auto arrived = step.exchange.finish_messages(token);
        std::vector<std::vector<arena::HeardOver>> heard(arrived.size());
        for (size_t i = 0; i < arrived.size(); ++i) {
            const int64_t self = step.x.first + static_cast<int64_t>(i);
            for (const comm::Heard& one : arrived[i]) {
                heard[i].push_back({one.message, one.weight, self < one.replica});
            }
        }
        matrices_.take(step.x, p_, q_, finds, heard, messages_.rows(), step.queue);
        arena::keep(step.queue, std::exchange(token, nullptr));
    }
    /// Of all local replicas, in the order of their messages.
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

std::unique_ptr<Algorithm> make(const base::Json&, const AlgorithmContext& context) {
    return std::make_unique<PowerGossip>(context);
}

}  // namespace

AlgorithmEntry powergossip_entry() {
    return {{"powergossip", "differences over each link as matrices of rank 1 (PowerGossip)", {}},
            make,
            {.graph = GraphNeed::symmetric, .sequences = false, .own_messages = true},
            {.bias = Bias::none}};
}

}  // namespace dbench::algorithms
