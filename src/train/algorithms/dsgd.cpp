// Decentralized SGD (D-PSGD: Lian et al. 2017, arXiv 1705.09056; diffusion: Chen and Sayed 2012) in
// its three orders, with any local optimizer d:
//
//     adapt_then_combine (ATC)   x <- W (x - lr d(g(x)))    exchange by bucket, during backward
//     combine_while_adapt (AWC)  x <- W x - lr d(g(x))      exchange during forward and backward
//     combine_then_adapt (CTA)   p = W x;  x <- p - lr d(g(p))
//
// One row per neighbour and iteration; AWC keeps W x and the received rows, the others nothing.

#include <nlohmann/json.hpp>

#include "train/algorithms/algorithm.hpp"

namespace dbench::train {
namespace {

class Dsgd : public Algorithm {
public:
    explicit Dsgd(const graphs::Schedule* schedule) : cost_(schedule) {}
    Sent sent(graphs::Round round) const override {
        const comm::RoundCost& cost = cost_.of(round);
        return {cost.averages, cost.averages ? 1 : 0, cost.degree, cost.messages, cost.rows};
    }
    bool mixes_again() const override { return true; }

private:
    MixingCost cost_;
};

class AdaptThenCombine final : public Dsgd {
public:
    using Dsgd::Dsgd;

    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
        pending_.push_back(step.start_mix(step.x, columns));
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);  // in flight, but written only by the finish
        for (const auto& token : pending_) step.finish_mix(token, step.x);
        pending_.clear();
        step.mix_again(step.x);
        step.probe.averaged(step.x);
    }

private:
    std::vector<comm::Token> pending_;
};

class CombineWhileAdapt final : public Dsgd {
public:
    using Dsgd::Dsgd;

    void before_forward(Step& step) override {
        if (mixed_.bytes() == 0) {  // scratch, not state: written anew in every iteration
            const arena::Rows& x = step.x;
            mixed_ = arena::Buffer(x.type, x.first, x.count, x.stride);
        }
        step.probe.about_to_average(step.x);
        token_ = step.start_mix(step.x, step.layout.all());
    }
    void after_backward(Step& step) override {
        step.finish_mix(token_, mixed_.rows());
        token_.reset();
        step.mix_again(mixed_.rows());
        step.probe.averaged(mixed_.rows());
        step.update(step.x, mixed_.rows(), step.x, step.layout.all());
    }
    int extra_rows() const override { return 1; }
    bool keeps_received_rows() const override { return true; }

private:
    arena::Buffer mixed_;
    comm::Token token_;
};

class CombineThenAdapt final : public Dsgd {
public:
    using Dsgd::Dsgd;

    void before_forward(Step& step) override {
        step.probe.about_to_average(step.x);
        step.mix(step.x, step.x);
        step.mix_again(step.x);
        step.probe.averaged(step.x);
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
    }
};

}  // namespace

std::unique_ptr<Algorithm> make_dsgd(const base::Json& spec, const AlgorithmContext& context) {
    const std::string order = spec.at("order");
    if (order == "combine_while_adapt") {
        return std::make_unique<CombineWhileAdapt>(context.schedule);
    }
    if (order == "combine_then_adapt") return std::make_unique<CombineThenAdapt>(context.schedule);
    return std::make_unique<AdaptThenCombine>(context.schedule);
}

}  // namespace dbench::train
