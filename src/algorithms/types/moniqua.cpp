// Moniqua (Lu and De Sa 2020, arXiv 2002.11787; code: epfml/powergossip): if neighbours' parameters
// are within theta of each other, it suffices to send them modulo B on a grid of 2^bits levels.
// With delta = 1 / (2^bits - 1), B = 2 theta / (1 - 2 delta), y mod B in [-B/2, B/2):
//
//     h = x - lr d(g(x));   q = floor(((h/B mod 1) + 1/2) / delta + u) delta - 1/2
//     e = q B - (h mod B)
//     x_i <- h_i + gamma sum_j w_ij (((q_j B - h_i) mod B) - e_i)
//
// This is the form adapt_then_combine. In the paper's form (algorithm 1), combine_while_adapt, x
// takes the place of h in the messages, and lr d(g(x)) is subtracted afterwards.
//
// u in [0, 1) is drawn with a key that all replicas share, so that equal parameters are rounded
// equally and do not drive each other apart (the authors' code draws a seed for that and does not
// use it). The mean moves as without compression while all |h_i - h_j| < theta.
//
// A difference of theta or more is decoded as a different value. Knowing u, the receiver of q_j
// knows h_j to within delta B, modulo B. If no such value is within theta of h_i, the difference
// was too large; this is counted. The count finds some of the differences a little above theta, all
// at B/2, and none at B.
//
// * State: the counts; no rows. combine_while_adapt: scratch for x.
// * Sends: one message per neighbour and iteration with `bits` bits per element, after backward; in
//   the form combine_while_adapt during forward and backward.
// * Requires: nothing beyond a doubly stochastic W; no codec applies.

#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/entries.hpp"
#include "arena/messages/message_parts.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {
namespace {

struct MoniquaSpec {
    double theta;
    int64_t bits;
    double gamma;
    bool while_adapt;  ///< Exchanges during the update, not after it.

    static const base::Section<MoniquaSpec>& section();
};

const base::Section<MoniquaSpec>& MoniquaSpec::section() {
    using P = base::Parameter;
    static const base::Section<MoniquaSpec> keys{
        {P::number("theta", "0.25", "bound on the differences of neighbours' parameters")
             .greater_than(0),
         &MoniquaSpec::theta},
        {P::integer("bits", "4", "bits per element of a message").at_least(2).at_most(16),
         &MoniquaSpec::bits},
        {consensus_step_parameter("0.5"), &MoniquaSpec::gamma},
        {base::Words<bool>("form", {{"adapt_then_combine", false}, {"combine_while_adapt", true}},
                           false,
                           "time of the exchange: after the update, or during it as in the paper"),
         &MoniquaSpec::while_adapt},
    };
    return keys;
}

struct Bound {
    int bits;
    double theta;

    double delta() const { return 1 / static_cast<double>((int64_t{1} << bits) - 1); }
    double modulus() const { return 2 * theta / (1 - 2 * delta()); }
};

class Moniqua final : public Algorithm {
public:
    Moniqua(const AlgorithmContext& context, Bound bound, double gamma, bool while_adapt)
        : layout_(*context.layout),
          cost_(context.schedule, comm::link_cost),
          parts_({bound.bits, bound.modulus()}, layout_, context.type),
          root_(base::Random(context.compression.seed, base::Purpose::message).key()),
          theta_(bound.theta),
          gamma_(gamma),
          while_adapt_(while_adapt) {
        const int64_t size = arena::size_of(context.type);
        stride_ = (parts_.bytes() + size - 1) / size;
    }

    void declare(arena::StateTable& state) override {
        too_far_ = state.numbers("algorithm/too_far");
        messages_ = state.scratch(stride_);
        if (while_adapt_) before_ = state.scratch();
        counts_ = state.memories().rows(arena::DType::float64, too_far_.first, too_far_.count,
                                        static_cast<int64_t>(layout_.segments().size()));
    }
    void before_forward(Step& step) override {
        if (while_adapt_) send(step);
    }
    void ready(Step& step, arena::Columns columns) override {
        if (!while_adapt_) step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        const arena::Columns all = step.layout.all();
        if (while_adapt_) {
            step.copy(step.x, before_.rows(), all);
        } else {
            send(step);
        }
        receive(step);
        step.probe.averaged(step.x);
        if (while_adapt_) step.update(step.x, step.x, before_.rows(), all);
    }
    Sent sent(int64_t, graphs::Round round) const override {
        const comm::RoundCost& cost = cost_.at(round);
        const double bytes =
            static_cast<double>(cost.messages) * static_cast<double>(parts_.bytes());
        return {cost.averages, cost.averages ? 1 : 0, cost.degree, cost.messages, 0, 0, bytes};
    }
    std::string remark(comm::World& world) const override {
        std::vector<double> count{0};
        for (int64_t i = 0; i < too_far_.count; ++i) count[0] += *too_far_.row<double>(i);
        world.sum(count);
        if (count[0] == 0) return "";
        return "moniqua: parameters of neighbours differed by theta = " + base::short_text(theta_) +
               " or more at least " + std::to_string(static_cast<int64_t>(count[0])) +
               " times (they were decoded as other values, which moved the mean over "
               "replicas): raise /algorithm/theta, or lower the learning rate";
    }

private:
    arena::Draws draws(int64_t t) const {
        return {.root = root_,
                .purpose = static_cast<uint32_t>(base::Purpose::message),
                .first = 0,
                .iteration = t,
                .shared = true};
    }
    /// Encodes x and starts its exchange, if this round exchanges.
    void send(Step& step) {
        step.probe.about_to_average(step.x);
        if (!cost_.at(step.round).averages) return;
        const TimedScope scope(step.timers, Time::exchange);
        parts_.encode(step.x, draws(step.t), messages_.rows(), step.queue);
        token_ = step.exchange.start_messages(step.round, messages_.rows(), parts_.bytes(),
                                              comm::MessageWriter::queue);
    }
    /// Finishes the exchange, and moves x, which is still as it was sent, towards the neighbours.
    void receive(Step& step) {
        if (!token_) return;
        const TimedScope scope(step.timers, Time::exchange);
        const arena::Rows x = step.x, messages = messages_.rows();
        std::vector<std::vector<arena::WeightedMessage>> of_rows;
        for (const auto& received : step.exchange.finish_messages(token_)) {
            const auto i = static_cast<int64_t>(of_rows.size());
            auto& some = of_rows.emplace_back();
            some.push_back({messages.at(i, 0), 0});
            for (const comm::UsedMessage& one : received) {
                if (one.replica != x.first + i) some.push_back({one.message, one.weight});
            }
        }
        arena::approach_residues(parts_, layout_, x, of_rows, draws(step.t), gamma_,
                                 counts_.rows().row<double>(0), too_far_, step.queue);
        arena::keep(step.queue, std::exchange(token_, {}));
    }

    const arena::Layout& layout_;
    MixingCost cost_;
    arena::MessageParts<arena::Residues> parts_;
    uint64_t root_;
    double theta_, gamma_;
    bool while_adapt_;
    int64_t stride_;
    arena::Rows too_far_;  // Counts elements, over all neighbours and iterations.
    arena::Buffer messages_, counts_;
    arena::Buffer before_;  // x before the averaging.
    comm::Token token_;
};

std::unique_ptr<Algorithm> make_moniqua(const MoniquaSpec& spec, const AlgorithmContext& context) {
    const Bound bound{static_cast<int>(spec.bits), spec.theta};
    return std::make_unique<Moniqua>(context, bound, spec.gamma, spec.while_adapt);
}

}  // namespace

AlgorithmEntry moniqua_entry() {
    return {"moniqua",
            "parameters modulo a bound on the differences of neighbours, in few bits (Moniqua)",
            make_moniqua,
            {.messages = Messages::own, .bias = Bias::none}};
}

}  // namespace dbench::algorithms
