// CoCoD-SGD (Shen et al. 2019, arXiv 1906.12043; code: JYWa/Overlap_Local_SGD): local SGD whose
// averaging goes on while the next H local steps are made,
//
//     x <- x - lr d(g(x));   after every H-th iteration  x <- W s + (x - s);  then s = x is sent,
//
// W s being the mean of what was sent at the exchange before (the first one only sends). On the
// complete graph this is the paper's. One row per neighbour and exchange, during the local steps
// after it; keeps s.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "algorithms/late_mix.hpp"
#include "algorithms/outer_steps.hpp"

namespace dbench::algorithms {
namespace {

class CocodSgd final : public LateSteps {
public:
    using LateSteps::LateSteps;

    void declare(arena::StateTable& state) override {
        start_ = state.rows("algorithm/start");
        mixed_ = state.scratch();
    }

protected:
    void exchanged(Step& step, bool first) override {
        const arena::Columns all = step.layout.all();
        if (!first) {
            late_.finish(step, start_, mixed_.rows());
            step.combine(step.x, {{1, mixed_.rows()}, {1, step.x}, {-1, start_}}, all);
        }
        step.copy(step.x, start_, all);
        late_.start(step, start_);
    }

private:
    arena::Rows start_;
    arena::Buffer mixed_;
};

std::unique_ptr<Algorithm> make(const base::Json& spec, const AlgorithmContext& context) {
    return std::make_unique<CocodSgd>(context.schedule, spec.at("period"));
}

}  // namespace

AlgorithmEntry cocod_sgd_entry() {
    return {{"cocod_sgd",
             "local steps while the previous parameters are averaged (CoCoD-SGD)",
             {period_parameter("8")}},
            make,
            {},
            {},
            after_local_steps};
}

}  // namespace dbench::algorithms
