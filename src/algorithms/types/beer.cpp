// BEER (Zhao et al. 2022, arXiv 2201.13320; code: liboyue/beer): gradient tracking with compressed
// messages: public copies H of x and G of the tracker V,
//
//     x <- x + gamma (s_H - H) - lr V;   H <- H + Q(x - H)
//     V <- V + gamma (s_G - G) + g(x) - g(x before);   G <- G + Q(V - G)
//
// V_0 = g_0, H_0 = G_0 = 0, s_H = sum_j w_ij H_j, s_G alike: exact under heterogeneous data. MoTEF
// (Islamov et al. 2024, arXiv 2405.20114; code: mlolab/MoTEF) has the momentum
// M <- (1 - lambda) M + lambda g in g's place, with V_0 = M_0 = g_0: from M_0 = 0, as its code has
// it, the two means would differ for ever. Two messages per neighbour and iteration (one in
// iteration 0); keeps V, g or M, H, G and both sums.

#include <nlohmann/json.hpp>

#include "algorithms/codecs/messages.hpp"
#include "algorithms/entries.hpp"

namespace dbench::algorithms {
namespace {

class Beer final : public Compressing {
public:
    /// lambda = 1: BEER.
    Beer(const AlgorithmContext& context, double gamma, double lambda)
        : Compressing(context), of_tracker_(context, 1), gamma_(gamma), lambda_(lambda) {}

    void declare(arena::StateTable& state) override {
        Compressing::declare(state);
        of_tracker_.declare(state);
        tracker_ = state.rows("algorithm/tracker");
        followed_ = state.rows("algorithm/followed");
        for (const auto& [copy, name] : {std::pair{&x_copy_, ""}, {&tracker_copy_, "tracker_"}}) {
            copy->known = state.rows(std::string("algorithm/") + name + "public");
            copy->mixed = state.rows(std::string("algorithm/") + name + "mixed_public");
        }
        lack_ = state.scratch();
    }
    bool keeps_means() const override { return true; }  // mean(V) = mean(followed)

    void ready(Step& step, arena::Columns columns) override {
        step.decay(columns);
        if (step.t == 0) {
            step.copy(step.g, tracker_, columns);
            step.copy(step.g, followed_, columns);
            return;
        }
        // The gradient, or its momentum, takes the place of the one before.
        if (lambda_ != 1)
            step.combine(step.g, {{1 - lambda_, followed_}, {lambda_, step.g}}, columns);
        step.combine(tracker_,
                     {{1, tracker_},
                      {gamma_, tracker_copy_.mixed},
                      {-gamma_, tracker_copy_.known},
                      {1, step.g},
                      {-1, followed_}},
                     columns);
        step.copy(step.g, followed_, columns);
    }
    void after_backward(Step& step) override {
        const arena::Columns all = step.layout.all();
        if (step.t > 0) send(step, of_tracker_, tracker_, tracker_copy_);
        step.descend(step.x, step.x, tracker_, all);
        step.probe.about_to_average(step.x);
        step.combine(step.x, {{1, step.x}, {gamma_, x_copy_.mixed}, {-gamma_, x_copy_.known}}, all);
        step.probe.averaged(step.x);
        if (step.t > 0) hear(step, of_tracker_, tracker_copy_);
        send(step, messages(), step.x, x_copy_);
        hear(step, messages(), x_copy_);
    }
    Sent sent(int64_t t, graphs::Round round) const override {
        return messages_sent(round, t == 0 ? 1 : 2);
    }

private:
    struct Copy {
        arena::Rows known, mixed;
    };
    void send(Step& step, CompressedMessages& messages, arena::Rows rows, const Copy& copy) {
        step.combine(lack_.rows(), {{1, rows}, {-1, copy.known}}, step.layout.all());
        messages.send(step, lack_.rows());
    }
    static void hear(Step& step, CompressedMessages& messages, const Copy& copy) {
        messages.hear(step, {{copy.known, 1, 0}, {copy.mixed, 0, 1}});
    }

    CompressedMessages of_tracker_;
    double gamma_, lambda_;
    arena::Rows tracker_, followed_;
    Copy x_copy_, tracker_copy_;
    arena::Buffer lack_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<Beer>(context, spec.at("gamma"), spec.value("lambda", 1.0));
}

constexpr Accepts kAccepts = {
    .optimizer = OptimizerNeed::plain_sgd, .sequences = false, .compresses = true};

}  // namespace

AlgorithmEntry beer_entry() {
    return {{"beer",
             "gradient tracking with compressed messages: no bias (BEER)",
             {consensus_step_parameter("0.1")}},
            make,
            kAccepts,
            {.bias = Bias::vanishes, .tracker = "algorithm/tracker"}};
}

AlgorithmEntry motef_entry() {
    return {{"motef",
             "beer with momentum, which smooths noise (MoTEF)",
             {consensus_step_parameter("0.1"),
              base::Parameter::number("lambda", "0.1", "share of the new gradient in the momentum")
                  .greater_than(0)
                  .at_most(1)}},
            make,
            kAccepts,
            {.mean = MeanRule::none, .bias = Bias::vanishes, .plain_alone = false}};
}

}  // namespace dbench::algorithms
