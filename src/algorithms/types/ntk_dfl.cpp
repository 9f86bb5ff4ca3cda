// NTK-DFL (Thompson et al. 2024, arXiv 2410.01922; code: Gabe-Thomp/ntk-dfl). In each iteration,
// with J_j, f_j, Y_j of replica j's own minibatch (linearisation.hpp), together of N samples:
//
//     wb_i = (W x)_i, the mean over N(i) and i on a regular graph, goes to the neighbours
//     j in N(i) and i: J_j, f_j and Y_j at wb_i go back to i; their flow is f_u = f(u lr)
//                      (kernel_flow.hpp)
//     w_u = wb_i - lr (1 / N) sum_c J_c' sum_{v < u} r(f_v)_c
//     x_i <- w_tau, of all candidates tau that with the least loss of the model itself on all N
//
// The candidates w_u go to the neighbours, and their losses come back: the authors' code, which
// simulates all clients in one place, looks at the samples. Weight decay adds its share of wb_i to
// the sum's direction. Three rows, with one candidate two less, and a linearised model over each
// link; keeps the linearised models of a replica's neighbours twice during an exchange (what it has
// made and what it has received), and the candidates.

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/forms.hpp"
#include "algorithms/kernel_flow.hpp"
#include "arena/device/host_rows.hpp"
#include "arena/device/memory.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {
namespace {

/// So many elements for each local replica, which need not stay: the degree changes with the round.
void make_room(arena::Buffer& buffer, const arena::Rows& x, arena::DType type, int64_t elements) {
    if (buffer.rows().stride >= elements) return;
    buffer = {};
    buffer = arena::Buffer(type, x.first, x.count, elements, arena::reached_memory());
}

class NtkDfl final : public Mixed {
public:
    NtkDfl(const base::Json& spec, const AlgorithmContext& context)
        : Mixed(context.schedule),
          schedule_(*context.schedule),
          links_(context.schedule, comm::link_cost),
          layout_(*context.layout),
          type_(context.type),
          minibatch_(context.minibatch),
          steps_(spec.at("steps")),
          candidates_(spec.at("candidates")) {
        constexpr int64_t kLookedAt = 64;
        const int64_t rounds = std::clamp<int64_t>(schedule_.period(), 1, kLookedAt);
        for (int64_t t = 0; t < rounds; ++t) {
            for (int i = 0; i < schedule_.size(); ++i) neighbours(schedule_.at(t), i);
        }
    }

    void declare(arena::StateTable& state) override {
        if (candidates_ > 1) tried_ = state.reached_scratch(candidates_ * layout_.columns());
    }
    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (averages(step.round)) step.mix(step.x, step.x);
        step.probe.averaged(step.x);
    }
    void after_backward(Step& step) override {
        const Answers around = linearise(step);
        std::vector<KernelFlow> flows;
        std::vector<std::vector<Outputs>> sums;  // of residuals, for each candidate
        {
            const TimedScope scope(step.timers, Time::update);
            for (int64_t i = 0; i < step.x.count; ++i) {
                std::vector<Linearised> parts{own_block(i)};
                for (const comm::Heard& from : around.heard[i]) {
                    parts.push_back(block(const_cast<char*>(from.message)));
                }
                flows.emplace_back(std::move(parts), minibatch_.classes);
                sums.push_back(residual_sums(flows.back(), step.numbers.lr));
            }
        }
        std::vector<int64_t> tau(flows.size(), 0);  // which candidate
        if (candidates_ > 1) tau = least_loss(step, flows, sums);
        for (size_t i = 0; i < flows.size(); ++i) point(step, i, flows[i], sums[i][tau[i]]);
        step.decay(step.layout.all());
        step.descend(step.x, step.x, step.g, step.layout.all());
    }

    Sent sent(int64_t, graphs::Round round) const override {
        Sent all = rows_sent(round, 1);
        const int64_t links = links_.of(round).messages, size = arena::size_of(type_);
        const int64_t row = size * layout_.numel();
        all.messages += 2 * links;
        all.bytes = static_cast<double>(links * (row + link_message_bytes()));
        if (candidates_ == 1) return all;
        all.messages += 2 * links;
        all.bytes += static_cast<double>(links * candidates_) *
                     static_cast<double>(row + static_cast<int64_t>(sizeof(double)));
        return all;
    }
    int64_t link_message_bytes() const override { return block(nullptr).bytes(); }

private:
    using Outputs = std::vector<double>;  ///< [N, C]
    /// What came back over each link; what is pointed to stays as long as the token.
    struct Answers {
        comm::Token token;
        std::vector<std::vector<comm::Heard>> heard;
    };

    /// Those who use replica i, who must be those whom it uses.
    std::vector<int> neighbours(graphs::Round round, int i) const {
        const auto peers = [&](const std::vector<graphs::Link>& links) {
            std::vector<int> out;
            for (const graphs::Link& link : links) {
                if (link.peer != i && link.weight != 0) out.push_back(link.peer);
            }
            return out;
        };
        std::vector<int> users = peers(schedule_.out(round, i));
        if (users == peers(schedule_.in(round, i))) return users;
        throw base::UserError(
            "/graph: replica " + std::to_string(i) +
            " hears others than those who hear it, but ntk_dfl asks those who hear it for "
            "Jacobians: choose an undirected graph such as epidemic or ring");
    }
    /// Links of the local replica with most of them.
    int64_t degree(const Step& step) const {
        size_t most = 0;
        for (int64_t i = 0; i < step.x.count; ++i) {
            most =
                std::max(most, neighbours(step.round, static_cast<int>(step.x.first + i)).size());
        }
        return static_cast<int64_t>(most);
    }

    Linearised block(char* data) const {
        return {data, type_, minibatch_.samples, minibatch_.outputs, layout_.numel()};
    }
    Linearised own_block(int64_t i) const { return block(own_.rows().at(i, 0)); }

    /// Sends the first `bytes` bytes of each row to the neighbours, calls answer(message, i, link)
    /// for what local replica i hears, and returns what has come back over its links: the first
    /// `answer_bytes` bytes that the other end has written for it in `answers`.
    template <class Answer>
    Answers ask(Step& step, const arena::Rows& rows, int64_t bytes, const arena::Rows& answers,
                int64_t answer_bytes, const Answer& answer) {
        Answers back{nullptr, std::vector<std::vector<comm::Heard>>(step.x.count)};
        if (links_.of(step.round).messages == 0) return back;
        {
            comm::Token asked;
            std::vector<std::vector<comm::Heard>> heard;
            {
                const TimedScope scope(step.timers, Time::exchange);
                asked = step.exchange.start_messages(step.round, rows, bytes);
                heard = step.exchange.finish_messages(asked);
            }
            for (int64_t i = 0; i < step.x.count; ++i) {
                int64_t link = 0;
                for (const comm::Heard& from : heard[i]) {
                    if (from.replica != step.x.first + i) answer(from.message, i, link++);
                }
            }
        }
        const TimedScope scope(step.timers, Time::exchange);
        back.token = step.exchange.start_link_messages(step.round, answers, answer_bytes);
        back.heard = step.exchange.finish_messages(back.token);
        return back;
    }

    /// The models of the neighbours around wb, and one's own.
    Answers linearise(Step& step) {
        const int64_t elements = block(nullptr).elements(), bytes = link_message_bytes();
        make_room(own_, step.x, type_, elements);
        make_room(blocks_, step.x, type_, degree(step) * elements);
        const arena::HostRows x(step.x, step.queue, "parameters that a model is linearised at");
        for (int64_t i = 0; i < step.x.count; ++i) {
            step.linearise(x.rows().at(i, 0), i, own_block(i));
        }
        return ask(step, x.rows(), layout_.columns() * arena::size_of(type_), blocks_.rows(), bytes,
                   [&](const char* wb, int64_t i, int64_t link) {
                       step.linearise(wb, i, block(blocks_.rows().at(i, 0) + link * bytes));
                   });
    }

    /// sum_{v < u} r(f_v) for each candidate u.
    std::vector<Outputs> residual_sums(const KernelFlow& flow, double lr) const {
        std::vector<Outputs> sums;
        Outputs f = flow.start(), sum(f.size());
        for (int64_t u = 1; u <= steps_; ++u) {
            const Outputs r = flow.residual(f);
            for (size_t k = 0; k < sum.size(); ++k) sum[k] += r[k];
            if (u % (steps_ / candidates_) == 0) sums.push_back(sum);
            if (u < steps_) f = flow.after(f, lr);
        }
        return sums;
    }

    /// The direction from wb to a candidate, into g.
    void point(Step& step, size_t i, const KernelFlow& flow, const Outputs& sum) const {
        const TimedScope scope(step.timers, Time::update);
        const std::vector<double> direction = flow.gradient(sum);
        arena::HostRows g(step.g.only(static_cast<int64_t>(i)), step.queue,
                          "gradients that a direction replaces");
        arena::with_type(step.g.type, [&]<class T>() {
            const double* next = direction.data();
            for (const arena::Tensor& tensor : layout_.tensors()) {
                T* const to = g.rows().row<T>(0) + tensor.offset;
                std::transform(next, next + tensor.numel, to,
                               [](double value) { return static_cast<T>(value); });
                next += tensor.numel;
            }
        });
        g.put_back();
    }

    /// For each local replica its candidate of least loss, on its own minibatch and on those of its
    /// neighbours; the first one of several.
    std::vector<int64_t> least_loss(Step& step, const std::vector<KernelFlow>& flows,
                                    const std::vector<std::vector<Outputs>>& sums) {
        const int64_t columns = layout_.columns(), size = arena::size_of(type_);
        const arena::Rows tried = tried_.rows();
        for (int64_t k = 0; k < candidates_; ++k) {
            for (size_t i = 0; i < flows.size(); ++i) point(step, i, flows[i], sums[i][k]);
            step.decay(step.layout.all());
            arena::Rows to = tried;
            to.data = tried.at(0, k * columns);
            step.combine(to, {{1, step.x}, {-step.numbers.lr, step.g}}, step.layout.all());
        }
        step.wait("candidates whose loss is asked for");
        const auto losses = [&](const char* rows, int64_t i, double* out) {
            for (int64_t k = 0; k < candidates_; ++k) {
                out[k] = step.loss(rows + k * columns * size, i);
            }
        };
        make_room(losses_, step.x, arena::DType::float64, degree(step) * candidates_);
        const Answers back =
            ask(step, tried, candidates_ * columns * size, losses_.rows(),
                candidates_ * static_cast<int64_t>(sizeof(double)),
                [&](const char* rows, int64_t i, int64_t link) {
                    losses(rows, i, losses_.rows().row<double>(i) + link * candidates_);
                });
        std::vector<int64_t> best;
        for (int64_t i = 0; i < step.x.count; ++i) {
            std::vector<double> sum(static_cast<size_t>(candidates_));
            losses(tried.at(i, 0), i, sum.data());
            for (const comm::Heard& from : back.heard[i]) {
                const auto* theirs = reinterpret_cast<const double*>(from.message);
                for (int64_t k = 0; k < candidates_; ++k) sum[k] += theirs[k];
            }
            // One that ran away is never the least.
            for (double& loss : sum) {
                if (std::isnan(loss)) loss = std::numeric_limits<double>::infinity();
            }
            best.push_back(std::min_element(sum.begin(), sum.end()) - sum.begin());
        }
        return best;
    }

    const graphs::Schedule& schedule_;
    MixingCost links_;
    const arena::Layout& layout_;
    arena::DType type_;
    Minibatch minibatch_;
    int64_t steps_, candidates_;
    arena::Buffer tried_;
    arena::Buffer own_, blocks_, losses_;  // a block; those and the losses for each neighbour
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<NtkDfl>(spec, context);
}

void check(base::Json& spec, const std::string& pointer) {
    const int64_t steps = spec.at("steps"), candidates = spec.at("candidates");
    if (steps % candidates == 0) return;
    int64_t below = std::min(steps, candidates);
    while (steps % below != 0) --below;
    throw base::UserError(pointer + "/candidates: " + std::to_string(candidates) +
                          " do not divide the " + std::to_string(steps) +
                          " of /algorithm/steps evenly: choose " + std::to_string(below));
}

}  // namespace

AlgorithmEntry ntk_dfl_entry() {
    using P = base::Parameter;
    return {{"ntk_dfl",
             "gradient flow by the kernel of the neighbours' Jacobians (NTK-DFL)",
             {P::integer("steps", "800", "the largest tau: steps of the flow, each of the rate")
                  .at_least(1),
              P::integer("candidates", "8",
                         "tau is the one of so many, evenly spaced up to steps, of least loss")
                  .at_least(1)}},
            make,
            {.graph = GraphNeed::symmetric,
             .optimizer = OptimizerNeed::plain_sgd,
             .own_messages = true,
             .linearises = true},
            {.mean = MeanRule::none},
            nullptr,
            check};
}

}  // namespace dbench::algorithms
