// BEER (Zhao et al. 2022, arXiv 2201.13320; code: liboyue/beer): gradient tracking with compressed
// messages. H is the public copy of x, G that of the tracker V; neighbours know both:
//
//     x <- x + gamma (s_H - H) - lr V;   H <- H + Q(x - H)
//     V <- V + gamma (s_G - G) + g(x) - g(x before);   G <- G + Q(V - G)
//
// with s_H = sum_j w_ij H_j, s_G = sum_j w_ij G_j, V_0 = g_0, H_0 = G_0 = 0. It is exact under
// heterogeneous data.
//
// MoTEF (Islamov et al. 2024, arXiv 2405.20114; code: mlolab/MoTEF) replaces g by the momentum M <-
// (1 - lambda) M + lambda g, with V_0 = M_0 = g_0. Its code starts with M_0 = 0; then mean(V) and
// mean(M) would differ permanently.
//
// * State: V, the last g (MoTEF: M), H, G, s_H and s_G.
// * Sends: two compressed messages per neighbour and iteration, after backward; one in iteration
//   0.
// * Requires: plain SGD and a graph that does not change.

#include "algorithms/codecs/messages.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {
namespace {

struct BeerSpec {
    double gamma;

    static const base::Section<BeerSpec>& section();
};

const base::Section<BeerSpec>& BeerSpec::section() {
    static const base::Section<BeerSpec> keys{
        {consensus_step_parameter("0.1"), &BeerSpec::gamma},
    };
    return keys;
}

struct MotefSpec {
    double gamma, lambda;

    static const base::Section<MotefSpec>& section();
};

const base::Section<MotefSpec>& MotefSpec::section() {
    static const base::Section<MotefSpec> keys{
        {consensus_step_parameter("0.1"), &MotefSpec::gamma},
        {base::Parameter::number("lambda", "0.1", "share of the new gradient in the momentum")
             .greater_than(0)
             .at_most(1),
         &MotefSpec::lambda},
    };
    return keys;
}

class Beer final : public CompressingAlgorithm {
public:
    /// With lambda = 1 this is BEER, else MoTEF.
    Beer(const AlgorithmContext& context, double gamma, double lambda)
        : CompressingAlgorithm(context),
          tracker_messages_(context, 1),
          gamma_(gamma),
          lambda_(lambda) {}

    void declare(arena::StateTable& state) override {
        CompressingAlgorithm::declare(state);
        tracker_messages_.declare(state);
        tracker_ = state.rows("algorithm/tracker");
        tracked_ = state.rows("algorithm/followed");
        for (const auto& [copy, name] : {std::pair{&x_copy_, ""}, {&tracker_copy_, "tracker_"}}) {
            copy->known = state.rows(std::string("algorithm/") + name + "public");
            copy->mixed = state.rows(std::string("algorithm/") + name + "mixed_public");
        }
        difference_ = state.scratch();
    }

    void ready(Step& step, arena::Columns columns) override {
        step.decay(columns);
        if (step.t == 0) {
            step.copy(step.g, tracker_, columns);
            step.copy(step.g, tracked_, columns);
            return;
        }
        // The tracker replaces the previous gradient (MoTEF: momentum) by the new one.
        if (lambda_ != 1)
            step.combine(step.g, {{1 - lambda_, tracked_}, {lambda_, step.g}}, columns);
        step.combine(tracker_,
                     {{1, tracker_},
                      {gamma_, tracker_copy_.mixed},
                      {-gamma_, tracker_copy_.known},
                      {1, step.g},
                      {-1, tracked_}},
                     columns);
        step.copy(step.g, tracked_, columns);
    }
    void after_backward(Step& step) override {
        const arena::Columns all = step.layout.all();
        if (step.t > 0) send(step, tracker_messages_, tracker_, tracker_copy_);
        step.apply_direction(step.x, step.x, tracker_, all);
        step.probe.about_to_average(step.x);
        step.combine(step.x, {{1, step.x}, {gamma_, x_copy_.mixed}, {-gamma_, x_copy_.known}}, all);
        step.probe.averaged(step.x);
        if (step.t > 0) receive(step, tracker_messages_, tracker_copy_);
        send(step, messages(), step.x, x_copy_);
        receive(step, messages(), x_copy_);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        return messages_sent(round, t == 0 ? 1 : 2);
    }

private:
    struct Copy {
        arena::Rows known, mixed;
    };
    void send(Step& step, CompressedMessages& messages, arena::Rows rows, const Copy& copy) {
        step.combine(difference_.rows(), {{1, rows}, {-1, copy.known}}, step.layout.all());
        messages.send(step, difference_.rows());
    }
    static void receive(Step& step, CompressedMessages& messages, const Copy& copy) {
        messages.receive(step, {{copy.known, 1, 0}, {copy.mixed, 0, 1}});
    }

    CompressedMessages tracker_messages_;
    double gamma_, lambda_;
    arena::Rows tracker_, tracked_;
    Copy x_copy_, tracker_copy_;
    arena::Buffer difference_;
};

std::unique_ptr<Algorithm> make_beer(const BeerSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<Beer>(context, spec.gamma, 1.0);
}

std::unique_ptr<Algorithm> make_motef(const MotefSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<Beer>(context, spec.gamma, spec.lambda);
}

}  // namespace

AlgorithmEntry beer_entry() {
    return {"beer",
            "gradient tracking with compressed messages: no bias (BEER)",
            make_beer,
            {.sequences = false,
             .optimizer = OptimizerNeed::plain_sgd,
             .messages = Messages::coded,
             .replica_change = ReplicaChange::never,  // `mixed` = W times the public copies
             .bias = Bias::vanishes,
             .tracker = "algorithm/tracker"}};
}

AlgorithmEntry motef_entry() {
    return {"motef",
            "beer with momentum, which reduces noise (MoTEF)",
            make_motef,
            {.sequences = false,
             .optimizer = OptimizerNeed::plain_sgd,
             .messages = Messages::coded,
             .replica_change = ReplicaChange::never,  // `mixed` = W times the public copies
             .mean = MeanRule::none,
             .bias = Bias::vanishes,
             .plain_alone = false}};
}

}  // namespace dbench::algorithms
