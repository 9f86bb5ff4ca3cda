// DSGD, decentralized SGD (D-PSGD: Lian et al. 2017, arXiv 1705.09056; diffusion: Chen and Sayed
// 2012), in three orders, with any local optimizer d:
//
//     adapt_then_combine (ATC)   x <- W (x - lr d(g(x)))       exchange by bucket, during backward
//     combine_while_adapt (AWC)  x <- W x - lr d(g(x))         exchange from the last update on,
//                                                              during forward and backward
//     combine_then_adapt (CTA)   p = W x;  x <- p - lr d(g(p)) exchange before forward
//
// * State: none.
// * Sends: one row per neighbour and iteration.
// * Memory: AWC double-buffers x and W x (swapped in each step) and keeps the received rows. If
//   other ranks read rows in place, ATC keeps the message, and CTA double-buffers x as AWC does.
// * Requires: nothing beyond a doubly stochastic W.

#include "algorithms/entries.hpp"
#include "algorithms/mixing_algorithms.hpp"

namespace dbench::algorithms {
namespace {

enum class Order : uint8_t { adapt_then_combine, combine_while_adapt, combine_then_adapt };

struct DsgdSpec {
    Order order;

    static const base::Section<DsgdSpec>& section();
};

const base::Section<DsgdSpec>& DsgdSpec::section() {
    static const base::Section<DsgdSpec> keys{
        {base::Words<Order>("order",
                            {{"adapt_then_combine", Order::adapt_then_combine},
                             {"combine_while_adapt", Order::combine_while_adapt},
                             {"combine_then_adapt", Order::combine_then_adapt}},
                            Order::adapt_then_combine,
                            "time of the exchange: after, during or before the update"),
         &DsgdSpec::order},
    };
    return keys;
}

class DsgdAtc final : public BufferedAdaptThenCombine {
public:
    DsgdAtc(const graphs::Schedule* schedule, bool may_repeat)
        : BufferedAdaptThenCombine(schedule), may_repeat_(may_repeat) {}
    void declare(arena::StateTable& state) override { message_buffer_ = state.message(); }

private:
    bool repeats_averaging() const override { return may_repeat_; }

    bool may_repeat_;
};

class CombineWhileAdapt final : public MixingAlgorithm {
public:
    using MixingAlgorithm::MixingAlgorithm;

    void declare(arena::StateTable& state) override { mixed_ = state.peer_readable_scratch(); }
    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        if (averages(step.round)) exchange_.start(step, step.x, kLifetime);
    }
    void after_backward(Step& step) override {
        if (!averages(step.round)) {
            step.probe.averaged(step.x);
            step.update(step.x, step.x, step.x, step.layout.all());
            return;
        }
        const arena::Rows mixed = mixed_.rows();
        if (step.may_mix_again() || step.probe.measures_after_averaging()) {
            exchange_.finish(step, mixed);
            step.mix_again(mixed);
            step.probe.averaged(mixed);
            step.update(mixed, mixed, step.x, step.layout.all());
        } else if (step.next_round && averages(*step.next_round)) {
            exchange_.finish_update_and_send(step, mixed, kLifetime);
        } else {
            exchange_.finish_and_update(step, mixed);
        }
        step.replace_parameters(mixed_);
    }

private:
    static constexpr comm::RowLifetime kLifetime = comm::RowLifetime::until_reclaimed;
    arena::Buffer mixed_;
    TiledMix exchange_;
};

class CombineThenAdapt final : public MixingAlgorithm {
public:
    using MixingAlgorithm::MixingAlgorithm;

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

private:
    void combine(Step& step) {
        if (mixed_.bytes() == 0) return step.mix(step.x, step.x);
        exchange_.start(step, step.x, comm::RowLifetime::until_reclaimed);
        exchange_.finish(step, mixed_.rows());
        step.replace_parameters(mixed_);
    }

    arena::Buffer mixed_;
    TiledMix exchange_;
};

std::unique_ptr<Algorithm> make_dsgd(const DsgdSpec& spec, const AlgorithmContext& context) {
    switch (spec.order) {
        case Order::combine_while_adapt:
            return std::make_unique<CombineWhileAdapt>(context.schedule);
        case Order::combine_then_adapt:
            return std::make_unique<CombineThenAdapt>(context.schedule);
        case Order::adapt_then_combine:
            break;
    }
    return adapt_then_combine(context.schedule, true);
}

void refine_dsgd(const DsgdSpec& spec, Traits& traits) {
    traits.keeps_received_rows = spec.order == Order::combine_while_adapt;
}

}  // namespace

std::unique_ptr<Algorithm> adapt_then_combine(const graphs::Schedule* schedule, bool may_repeat) {
    return std::make_unique<DsgdAtc>(schedule, may_repeat);
}

AlgorithmEntry dsgd_entry() {
    return {"dsgd",
            "decentralized SGD: parameters averaged with neighbours",
            make_dsgd,
            {.repeats_averaging = true},
            {.refine = refine_dsgd}};
}

}  // namespace dbench::algorithms
