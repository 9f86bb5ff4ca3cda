// NTK-DFL (Thompson et al. 2024, arXiv 2410.01922; code: Gabe-Thomp/ntk-dfl): gradient flow by the
// neural tangent kernel. J_j, f_j, Y_j are the Jacobian, outputs and targets of replica j's own
// minibatch (linearisation.hpp); the minibatches of N(i) and i together have N samples. Iteration:
//
//     1. wb_i = (W x)_i (the mean over N(i) and i on a regular graph) is sent to the neighbours
//     2. each j in N(i) and i computes J_j, f_j and Y_j at wb_i and returns them to i;
//        their flow is f_u = f(u lr) (kernel_flow.hpp)
//     3. w_u = wb_i - lr (1 / N) sum_c J_c' sum_{v < u} r(f_v)_c
//     4. x_i <- w_tau, where tau is the candidate with the least loss of the model itself on
//        all N samples
//
// For step 4 the candidates w_u are sent to the neighbours, which return their losses. The authors'
// code simulates all clients in one process and reads the samples directly. Weight decay adds its
// share of wb_i to the direction of the sum.
//
// * State: none between iterations.
// * Sends: per link and iteration two rows (x and wb), the linearised model, and with more than
//   one candidate also all candidates and their losses.
// * Memory: during an exchange the linearised models of all neighbours twice (those computed for
//   the neighbours and those received), and the candidates.
// * Requires: an undirected graph, plain SGD; no codec applies.

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/entries.hpp"
#include "algorithms/kernel_flow.hpp"
#include "algorithms/mixing_algorithms.hpp"
#include "arena/device/host_rows.hpp"
#include "arena/device/memory.hpp"
#include "base/error.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::algorithms {
namespace {

struct NtkDflSpec {
    int64_t steps, candidates;

    static const base::Section<NtkDflSpec>& section();
};

const base::Section<NtkDflSpec>& NtkDflSpec::section() {
    using P = base::Parameter;
    static const base::Section<NtkDflSpec> keys{
        {P::integer("steps", "800", "steps of the flow, each of size lr: the largest tau")
             .at_least(1),
         &NtkDflSpec::steps},
        {P::integer("candidates", "8",
                    "number of values of tau, evenly spaced up to steps, to choose from")
             .at_least(1),
         &NtkDflSpec::candidates},
    };
    return keys;
}

/// Enlarges `buffer` to at least `elements` elements per local replica of the step; the contents
/// may be lost. The degree, and with it the size, changes with the round.
void ensure_size(arena::Buffer& buffer, const Step& step, arena::DType type, int64_t elements) {
    if (buffer.rows().stride >= elements) return;
    buffer = {};
    buffer = step.queue.memories().host_visible_rows(type, step.x.first, step.x.count, elements);
}

class NtkDfl final : public MixingAlgorithm {
public:
    NtkDfl(const NtkDflSpec& spec, const AlgorithmContext& context)
        : MixingAlgorithm(context.schedule),
          schedule_(*context.schedule),
          links_(context.schedule, comm::link_cost),
          layout_(*context.layout),
          type_(context.type),
          minibatch_(context.minibatch),
          steps_(spec.steps),
          candidates_(spec.candidates) {
        const graphs::StagedSchedule* staged = schedule_.staged();
        for (size_t k = 0; staged && k < staged->graphs(); ++k) check_undirected(staged->graph(k));
        if (!staged) check_undirected(schedule_);
    }

    void declare(arena::StateTable& state) override {
        if (candidates_ > 1)
            candidate_rows_ = state.host_visible_scratch(candidates_ * layout_.columns());
    }
    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (averages(step.round)) step.mix(step.x, step.x);
        step.probe.averaged(step.x);
    }
    void after_backward(Step& step) override {
        const LinkAnswers neighbour_models = linearise(step);
        std::vector<KernelFlow> flows;
        std::vector<std::vector<Outputs>> sums;  // Sums of residuals, for each candidate.
        {
            const TimedScope scope(step.timers, Time::update);
            for (int64_t i = 0; i < step.x.count; ++i) {
                std::vector<Linearised> parts{own_block(i)};
                for (const comm::UsedMessage& from : neighbour_models.received[i]) {
                    parts.push_back(block(const_cast<char*>(from.message)));
                }
                flows.emplace_back(std::move(parts), minibatch_.classes);
                sums.push_back(residual_sums(flows.back(), step.numbers.lr));
            }
        }
        std::vector<int64_t> tau(flows.size(), 0);  // Index of the chosen candidate per replica.
        if (candidates_ > 1) tau = least_loss(step, flows, sums);
        for (size_t i = 0; i < flows.size(); ++i)
            write_direction(step, i, flows[i], sums[i][tau[i]]);
        step.decay(step.layout.all());
        step.apply_direction(step.x, step.x, step.g, step.layout.all());
    }

    Sent sent(int64_t, graphs::Round round) const override {
        Sent all = rows_sent(round, 1);
        const int64_t links = links_.at(round).messages, size = arena::size_of(type_);
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
    /// The messages received over each link; the pointers are valid as long as the token exists.
    struct LinkAnswers {
        comm::Token token;
        std::vector<std::vector<comm::UsedMessage>> received;
    };

    /// Throws UserError if one of the graph's first rounds is directed.
    static void check_undirected(const graphs::Schedule& graph) {
        constexpr int64_t kMostRounds = 64;
        const int64_t period = graph.period();
        const int64_t rounds = period > 0 ? std::min(period, kMostRounds) : kMostRounds;
        for (int64_t t = 0; t < rounds; ++t) {
            for (int i = 0; i < graph.size(); ++i) neighbours(graph, graph.at(t), i);
        }
    }
    /// Returns the neighbours of replica i. Throws UserError if the graph is directed at i.
    static std::vector<int> neighbours(const graphs::Schedule& graph, graphs::Round round, int i) {
        const auto peers = [&](const std::vector<graphs::Link>& links) {
            std::vector<int> out;
            for (const graphs::Link& link : links) {
                if (link.peer != i && link.weight != 0) out.push_back(link.peer);
            }
            return out;
        };
        std::vector<int> users = peers(graph.out(round, i));
        if (users == peers(graph.in(round, i))) return users;
        throw base::UserError(
            "/graph: replica " + std::to_string(i) +
            " receives from other replicas than it sends to (ntk_dfl requests Jacobians from the "
            "replicas it sends to): choose an undirected graph, for example epidemic or ring");
    }
    /// Returns the largest number of links of a local replica.
    int64_t degree(const Step& step) const {
        size_t most = 0;
        for (int64_t i = 0; i < step.x.count; ++i) {
            const auto replica = static_cast<int>(step.x.first + i);
            most = std::max(most, neighbours(schedule_, step.round, replica).size());
        }
        return static_cast<int64_t>(most);
    }

    Linearised block(char* data) const {
        return {data, type_, minibatch_.samples, minibatch_.outputs, layout_.numel()};
    }
    Linearised own_block(int64_t i) const { return block(own_.rows().at(i, 0)); }

    /// Sends the first `bytes` bytes of each row to the neighbours and calls answer(message, i,
    /// link) for every message that local replica i receives. `answer` writes its answer to row i
    /// of `answers`. Returns the first `answer_bytes` bytes that the other end of each link has
    /// written for this rank's replicas.
    template <class Answer>
    LinkAnswers exchange_answers(Step& step, const arena::Rows& rows, int64_t bytes,
                                 const arena::Rows& answers, int64_t answer_bytes,
                                 const Answer& answer) {
        LinkAnswers back{nullptr, std::vector<std::vector<comm::UsedMessage>>(step.x.count)};
        if (links_.at(step.round).messages == 0) return back;
        {
            comm::Token request;
            std::vector<std::vector<comm::UsedMessage>> received;
            {
                const TimedScope scope(step.timers, Time::exchange);
                request = step.exchange.start_messages(step.round, rows, bytes);
                received = step.exchange.finish_messages(request);
            }
            for (int64_t i = 0; i < step.x.count; ++i) {
                int64_t link = 0;
                for (const comm::UsedMessage& from : received[i]) {
                    if (from.replica != step.x.first + i) answer(from.message, i, link++);
                }
            }
        }
        const TimedScope scope(step.timers, Time::exchange);
        back.token = step.exchange.start_link_messages(step.round, answers, answer_bytes);
        back.received = step.exchange.finish_messages(back.token);
        return back;
    }

    /// Linearises the models of this rank at the wb of their neighbours and at their own; returns
    /// the neighbours' models at the own wb.
    LinkAnswers linearise(Step& step) {
        const int64_t elements = block(nullptr).elements(), bytes = link_message_bytes();
        ensure_size(own_, step, type_, elements);
        ensure_size(blocks_, step, type_, degree(step) * elements);
        const arena::HostRows x(step.x, step.queue, "parameters that a model is linearised at");
        for (int64_t i = 0; i < step.x.count; ++i) {
            step.linearise(x.rows().at(i, 0), i, own_block(i));
        }
        return exchange_answers(
            step, x.rows(), layout_.columns() * arena::size_of(type_), blocks_.rows(), bytes,
            [&](const char* wb, int64_t i, int64_t link) {
                step.linearise(wb, i, block(blocks_.rows().at(i, 0) + link * bytes));
            });
    }

    /// Returns sum_{v < u} r(f_v) for each candidate u.
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

    /// Writes the direction from wb to a candidate to g.
    void write_direction(Step& step, size_t i, const KernelFlow& flow, const Outputs& sum) const {
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
        g.write_back();
    }

    /// Returns for each local replica the first candidate with the least loss on its own minibatch
    /// and on those of its neighbours.
    std::vector<int64_t> least_loss(Step& step, const std::vector<KernelFlow>& flows,
                                    const std::vector<std::vector<Outputs>>& sums) {
        const int64_t columns = layout_.columns(), size = arena::size_of(type_);
        const arena::Rows tried = candidate_rows_.rows();
        for (int64_t k = 0; k < candidates_; ++k) {
            for (size_t i = 0; i < flows.size(); ++i)
                write_direction(step, i, flows[i], sums[i][k]);
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
        ensure_size(losses_, step, arena::DType::float64, degree(step) * candidates_);
        const LinkAnswers back = exchange_answers(
            step, tried, candidates_ * columns * size, losses_.rows(),
            candidates_ * static_cast<int64_t>(sizeof(double)),
            [&](const char* rows, int64_t i, int64_t link) {
                losses(rows, i, losses_.rows().row<double>(i) + link * candidates_);
            });
        std::vector<int64_t> best;
        for (int64_t i = 0; i < step.x.count; ++i) {
            std::vector<double> sum(static_cast<size_t>(candidates_));
            losses(tried.at(i, 0), i, sum.data());
            for (const comm::UsedMessage& from : back.received[i]) {
                const auto* neighbour_losses = reinterpret_cast<const double*>(from.message);
                for (int64_t k = 0; k < candidates_; ++k) sum[k] += neighbour_losses[k];
            }
            // A candidate that diverged must never have the least loss.
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
    arena::Buffer candidate_rows_;
    // One block; one block per neighbour; losses per neighbour.
    arena::Buffer own_, blocks_, losses_;
};

std::unique_ptr<Algorithm> make_ntk_dfl(const NtkDflSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<NtkDfl>(spec, context);
}

void check_ntk_dfl(const NtkDflSpec& spec, const std::string& pointer) {
    const int64_t steps = spec.steps, candidates = spec.candidates;
    if (steps % candidates == 0) return;
    int64_t below = std::min(steps, candidates);
    while (steps % below != 0) --below;
    throw base::UserError(
        pointer + "/candidates: " + std::to_string(candidates) + " does not divide " +
        std::to_string(steps) +
        ", the value of /algorithm/steps (candidates are evenly spaced): choose " +
        std::to_string(below));
}

}  // namespace

AlgorithmEntry ntk_dfl_entry() {
    return {"ntk_dfl",
            "gradient flow by the kernel of the neighbours' Jacobians (NTK-DFL)",
            make_ntk_dfl,
            {.graph = GraphNeed::symmetric,
             .optimizer = OptimizerNeed::plain_sgd,
             .messages = Messages::own,
             .linearises = true,
             .mean = MeanRule::none},
            {.check = check_ntk_dfl}};
}

}  // namespace dbench::algorithms
