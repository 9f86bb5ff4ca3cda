// SGP, stochastic gradient push (Assran et al. 2019, arXiv 1811.10792; code:
// facebookresearch/stochastic_gradient_push): SGD by push-sum (push_sum.hpp). Graphs may be
// directed and irregular; the columns of A sum to 1.
//
//     atc   x+ = A (x - lr d(g(z)));   w+ = A w;   z+ = x+ / w+
//     awc   x+ = A x - lr d(g(z));     w+ = A w;   z+ = x+ / w+
//
// * State: w. Scratch for the message, awc also for A x.
// * Sends: one row and 8 bytes per neighbour and iteration: atc bucket by bucket during backward,
//   awc during forward and backward.
// * Requires: a column-stochastic matrix.

#include "algorithms/entries.hpp"
#include "algorithms/push_sum.hpp"

namespace dbench::algorithms {
namespace {

struct SgpSpec {
    bool awc;  ///< Exchanges during the update, not after it.

    static const base::Section<SgpSpec>& section();
};

const base::Section<SgpSpec>& SgpSpec::section() {
    static const base::Section<SgpSpec> keys{
        {base::Words<bool>("order", {{"atc", false}, {"awc", true}}, false,
                           "time of the exchange: after, or during the update"),
         &SgpSpec::awc},
    };
    return keys;
}

class SgpAtc final : public PushSum {
public:
    using PushSum::PushSum;

    void declare(arena::StateTable& state) override {
        PushSum::declare(state);
        message_ = state.scratch();
    }
    void before_forward(Step& step) override {
        w_.begin(step);
        if (averages(step.round)) w_.send(step);
    }
    void ready(Step& step, arena::Columns columns) override {
        const arena::Rows message = message_.rows();
        w_.weigh(step, step.x, message, columns);
        step.update(message, message, step.x, columns);
        if (averages(step.round)) pending_.push_back(step.start_mix(message, columns));
    }
    void after_backward(Step& step) override {
        const arena::Columns all = step.layout.all();
        w_.unweigh(step, message_.rows(), step.x, all);
        step.probe.about_to_average(step.x);
        if (averages(step.round)) {
            for (const comm::Token& token : pending_) step.finish_mix(token, step.x);
            pending_.clear();
            w_.apply(w_.receive(step));
            w_.unweigh(step, step.x, step.x, all);
        }
        step.probe.averaged(step.x);
    }

private:
    arena::Buffer message_;
    std::vector<comm::Token> pending_;
};

class Awc final : public PushSum {
public:
    using PushSum::PushSum;

    void declare(arena::StateTable& state) override {
        PushSum::declare(state);
        message_ = state.scratch();
        mixed_ = state.scratch();
    }
    void before_forward(Step& step) override {
        w_.begin(step);
        step.probe.about_to_average(step.x);
        w_.weigh(step, step.x, message_.rows(), step.layout.all());
        if (!averages(step.round)) return;
        w_.send(step);
        exchange_.start(step, message_.rows());
    }
    void after_backward(Step& step) override {
        arena::Rows next = message_.rows();
        const arena::Columns all = step.layout.all();
        if (averages(step.round)) {
            next = mixed_.rows();
            exchange_.finish(step, next);
            w_.apply(w_.receive(step));
            if (step.probe.measures_after_averaging()) {
                w_.unweigh(step, next, message_.rows(), all);
                step.probe.averaged(message_.rows());
            }
        } else {
            step.probe.averaged(step.x);
        }
        step.update(next, next, step.x, all);
        w_.unweigh(step, next, step.x, all);
    }

private:
    arena::Buffer message_, mixed_;
    TiledMix exchange_;
};

std::unique_ptr<Algorithm> make_sgp(const SgpSpec& spec, const AlgorithmContext& context) {
    if (spec.awc) return std::make_unique<Awc>(context.schedule);
    return std::make_unique<SgpAtc>(context.schedule);
}

void refine_sgp(const SgpSpec& spec, Traits& traits) { traits.keeps_received_rows = spec.awc; }

}  // namespace

AlgorithmEntry sgp_entry() {
    return {"sgp",
            "stochastic gradient push: directed graphs, only the columns of A must sum to 1",
            make_sgp,
            {.graph = GraphNeed::column_stochastic,
             .messages = Messages::exact_rows,
             .weight = "algorithm/weight"},
            {.refine = refine_sgp}};
}

}  // namespace dbench::algorithms
