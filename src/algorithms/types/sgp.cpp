// Stochastic gradient push (Assran et al. 2019, arXiv 1811.10792; code:
// facebookresearch/stochastic_gradient_push): SGD by push-sum (push_sum.hpp), so that graphs may be
// directed and unlike from replica to replica, A's columns summing to 1,
//
//     atc   x+ = A (x - lr d(g(z)));   w+ = A w;   z+ = x+ / w+
//     awc   x+ = A x - lr d(g(z));     w+ = A w;   z+ = x+ / w+
//
// One row and 8 bytes per neighbour and iteration: atc by bucket inside backward, awc during
// forward and backward. Keeps w, and rows of scratch.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/push_sum.hpp"

namespace dbench::algorithms {
namespace {

class Atc final : public PushSum {
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
            w_.take(w_.hear(step));
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
            w_.take(w_.hear(step));
            if (step.probe.wants_after()) {
                w_.unweigh(step, next, message_.rows(), all);
                step.probe.averaged(message_.rows());
            }
        } else {
            step.probe.averaged(step.x);
        }
        step.update(next, next, step.x, all);
        w_.unweigh(step, next, step.x, all);
    }
    bool keeps_received_rows() const override { return true; }

private:
    arena::Buffer message_, mixed_;
    TiledMix exchange_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    if (spec.at("order") == "awc") return std::make_unique<Awc>(context.schedule);
    return std::make_unique<Atc>(context.schedule);
}

}  // namespace

AlgorithmEntry sgp_entry() {
    return {{"sgp",
             "stochastic gradient push: directed graphs, whose columns alone sum to 1",
             {base::Parameter::choice("order", "\"atc\"", {"atc", "awc"},
                                      "when the exchange happens: after, or during the update")}},
            make,
            kPushSum,
            {.weight = "algorithm/weight"}};
}

}  // namespace dbench::algorithms
