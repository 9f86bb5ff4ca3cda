// Decentralized SGD (D-PSGD: Lian et al. 2017, arXiv 1705.09056; diffusion: Chen and Sayed 2012) in
// its three orders, with any local optimizer d:
//
//     adapt_then_combine (ATC)   x <- W (x - lr d(g(x)))    exchange by bucket, during backward
//     combine_while_adapt (AWC)  x <- W x - lr d(g(x))      exchange during forward and backward,
//                                                           and from the update before them on
//     combine_then_adapt (CTA)   p = W x;  x <- p - lr d(g(p))
//
// One row per neighbour and iteration; AWC keeps W x, which become the parameters as what they were
// becomes room for the next W x, and the received rows; where other ranks read rows in place, ATC
// keeps the message, and CTA W x as AWC does.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/forms.hpp"

namespace dbench::algorithms {
namespace {

class Atc final : public AdaptAside {
public:
    Atc(const graphs::Schedule* schedule, bool again) : AdaptAside(schedule), again_(again) {}
    bool mixes_again() const override { return again_; }
    void declare(arena::StateTable& state) override { aside_ = state.message(); }

private:
    bool again_;
};

class CombineWhileAdapt final : public Mixed {
public:
    using Mixed::Mixed;

    void declare(arena::StateTable& state) override { mixed_ = state.readable_scratch(); }
    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (averages(step.round)) exchange_.start(step, step.x, kStay);
    }
    void after_backward(Step& step) override {
        if (!averages(step.round)) {
            step.probe.averaged(step.x);
            step.update(step.x, step.x, step.x, step.layout.all());
            return;
        }
        const arena::Rows mixed = mixed_.rows();
        if (step.may_mix_again() || step.probe.wants_after()) {
            exchange_.finish(step, mixed);
            step.mix_again(mixed);
            step.probe.averaged(mixed);
            step.update(mixed, mixed, step.x, step.layout.all());
        } else if (step.next_round && averages(*step.next_round)) {
            exchange_.finish_update_and_send(step, mixed, kStay);
        } else {
            exchange_.finish_and_update(step, mixed);
        }
        step.replace_parameters(mixed_);
    }
    bool mixes_again() const override { return true; }
    bool keeps_received_rows() const override { return true; }

private:
    static constexpr comm::Stay kStay = comm::Stay::until_reclaimed;
    arena::Buffer mixed_;
    TiledMix exchange_;
};

class CombineThenAdapt final : public Mixed {
public:
    using Mixed::Mixed;

    void declare(arena::StateTable& state) override { mixed_ = state.message(); }
    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (averages(step.round)) {
            combine(step);
            step.mix_again(step.x);
        }
        step.probe.averaged(step.x);
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
    bool mixes_again() const override { return true; }

private:
    void combine(Step& step) {
        if (mixed_.bytes() == 0) return step.mix(step.x, step.x);
        exchange_.start(step, step.x, comm::Stay::until_reclaimed);
        exchange_.finish(step, mixed_.rows());
        step.replace_parameters(mixed_);
    }

    arena::Buffer mixed_;
    TiledMix exchange_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    const std::string order = spec.at("order");
    if (order == "combine_while_adapt") {
        return std::make_unique<CombineWhileAdapt>(context.schedule);
    }
    if (order == "combine_then_adapt") return std::make_unique<CombineThenAdapt>(context.schedule);
    return adapt_then_combine(context.schedule, true);
}

}  // namespace

std::unique_ptr<Algorithm> adapt_then_combine(const graphs::Schedule* schedule, bool again) {
    return std::make_unique<Atc>(schedule, again);
}

std::unique_ptr<Algorithm> make_over_schedule(const base::Json&, const AlgorithmContext& context) {
    return adapt_then_combine(context.schedule, false);
}

AlgorithmEntry dsgd_entry() {
    return {{"dsgd",
             "decentralized SGD: parameters averaged with neighbours",
             {base::Parameter::choice(
                 "order", "\"adapt_then_combine\"",
                 {"adapt_then_combine", "combine_while_adapt", "combine_then_adapt"},
                 "when the exchange happens: after, during or before the update")}},
            make};
}

}  // namespace dbench::algorithms
