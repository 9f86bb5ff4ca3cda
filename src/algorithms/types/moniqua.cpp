// Moniqua (Lu and De Sa 2020, arXiv 2002.11787; code: epfml/powergossip): neighbours' parameters
// are within theta of each other, so it is enough to send them modulo B, on a grid of 2^bits
// levels: delta = 1 / (2^bits - 1), B = 2 theta / (1 - 2 delta), y mod B in [-B/2, B/2),
//
//     h = x - lr d(g(x));   q = floor(((h/B mod 1) + 1/2) / delta + u) delta - 1/2
//     e = q B - (h mod B)
//     x_i <- h_i + gamma sum_j w_ij (((q_j B - h_i) mod B) - e_i)
//
// u in [0, 1) is drawn by a key that all replicas share, so that equal parameters are rounded alike
// and do not drive each other apart (the authors' code draws a seed for that and does not use it).
// The mean moves as without compression while all |h_i - h_j| < theta. bits bits an element in one
// message per neighbour and iteration; keeps no rows.
//
// A difference of theta or more is taken for another. Knowing u, who hears q_j knows h_j to within
// delta B, modulo B: where none of that is within theta of h_i, the difference was too large. That
// is counted; of those a little above theta it finds some, of those at B/2 all, and none at B.

#include <nlohmann/json.hpp>
#include <utility>

#include "algorithms/entries.hpp"
#include "arena/messages/message_parts.hpp"
#include "base/random.hpp"

namespace dbench::algorithms {
namespace {

struct Bound {
    int bits;
    double theta;

    double delta() const { return 1 / static_cast<double>((int64_t{1} << bits) - 1); }
    double modulus() const { return 2 * theta / (1 - 2 * delta()); }
};

class Moniqua final : public Algorithm {
public:
    Moniqua(const AlgorithmContext& context, Bound bound, double gamma)
        : layout_(*context.layout),
          cost_(context.schedule, comm::link_cost),
          parts_({bound.bits, bound.modulus()}, layout_, context.type),
          root_(base::Random(context.compression.seed, base::Purpose::message).key()),
          theta_(bound.theta),
          gamma_(gamma) {
        const int64_t size = arena::size_of(context.type);
        stride_ = (parts_.bytes() + size - 1) / size;
    }

    void declare(arena::StateTable& state) override {
        too_far_ = state.numbers("algorithm/too_far");
        messages_ = state.scratch(stride_);
        counts_ = arena::Buffer(arena::DType::float64, too_far_.first, too_far_.count,
                                static_cast<int64_t>(layout_.segments().size()));
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (cost_.of(step.round).averages) {
            const TimedScope scope(step.timers, Time::exchange);
            exchange(step);
        }
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t, graphs::Round round) const override {
        const comm::RoundCost& cost = cost_.of(round);
        const double bytes =
            static_cast<double>(cost.messages) * static_cast<double>(parts_.bytes());
        return {cost.averages, cost.averages ? 1 : 0, cost.degree, cost.messages, 0, 0, bytes};
    }
    std::string remark(comm::World& world) const override {
        std::vector<double> count{0};
        for (int64_t i = 0; i < too_far_.count; ++i) count[0] += *too_far_.row<double>(i);
        world.sum(count);
        if (count[0] == 0) return "";
        return "moniqua: parameters of neighbours were seen to be theta = " +
               base::short_text(theta_) + " or more apart " +
               std::to_string(static_cast<int64_t>(count[0])) +
               " times (and may have been more often): they were taken for others, and the mean "
               "over replicas moved with them: raise /algorithm/theta, or lower the learning rate";
    }

private:
    void exchange(Step& step) {
        const arena::Rows x = step.x, messages = messages_.rows();
        const arena::Draws draws{.root = root_,
                                 .purpose = static_cast<uint32_t>(base::Purpose::message),
                                 .first = 0,
                                 .iteration = step.t,
                                 .shared = true};
        parts_.encode(x, draws, messages, step.queue);
        auto token = step.exchange.start_messages(step.round, messages, parts_.bytes(),
                                                  comm::Made::on_queue);
        std::vector<std::vector<arena::WeighedMessage>> of_rows;
        for (const auto& heard : step.exchange.finish_messages(token)) {
            const auto i = static_cast<int64_t>(of_rows.size());
            auto& some = of_rows.emplace_back();
            some.push_back({messages.at(i, 0), 0});
            for (const comm::Heard& one : heard) {
                if (one.replica != x.first + i) some.push_back({one.message, one.weight});
            }
        }
        arena::approach_residues(parts_, layout_, x, of_rows, draws, gamma_,
                                 counts_.rows().row<double>(0), too_far_, step.queue);
        arena::keep(step.queue, std::move(token));
    }

    const arena::Layout& layout_;
    MixingCost cost_;
    arena::MessageParts<arena::Residues> parts_;
    uint64_t root_;
    double theta_, gamma_;
    int64_t stride_;
    arena::Rows too_far_;  // elements, of all neighbours and iterations
    arena::Buffer messages_, counts_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    const Bound bound{spec.at("bits"), spec.at("theta")};
    return std::make_unique<Moniqua>(context, bound, spec.at("gamma"));
}

}  // namespace

AlgorithmEntry moniqua_entry() {
    return {{"moniqua",
             "parameters modulo a bound on what neighbours differ by, in few bits (Moniqua)",
             {base::Parameter::number("theta", "0.25",
                                      "what elements of neighbours' parameters differ by at most")
                  .greater_than(0),
              base::Parameter::integer("bits", "4", "of an element in a message")
                  .at_least(2)
                  .at_most(16),
              consensus_step_parameter("0.5")}},
            make,
            {.own_messages = true},
            {.bias = Bias::none}};
}

}  // namespace dbench::algorithms
