// SlowMo (Wang et al. 2019, arXiv 1910.00643, algorithm 1): every H iterations of a base algorithm
// all replicas are averaged, and momentum acts on the change since the last global average.
//
//     x_a = mean_j x_j;   u <- beta u + (x_0 - x_a) / lr;   x_0 <- x_0 - alpha lr u;   x_i <- x_0
//
// lr is the learning rate of the last inner step. In these iterations the mean replaces the base
// algorithm's W. x_0 is the same on all replicas, apart from rounding if messages have 16 bits. The
// base algorithm keeps its state.
//
// * State: x_0 and u, and the base algorithm's state.
// * Sends: the base algorithm's rows, and an all-reduce every H iterations.
// * Requires: all replicas start with equal parameters; the learning rate must never be 0; a base
//   algorithm whose iterations end with an averaging of x.

#include <nlohmann/json.hpp>

#include "algorithms/types/local_sgd.hpp"
#include "base/error.hpp"
#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {
namespace {

struct SlowMoSpec : PeriodSpec {
    base::Json base;
    double beta, alpha;

    static const base::Section<SlowMoSpec>& section();
};

const base::Section<SlowMoSpec>& SlowMoSpec::section() {
    using P = base::Parameter;
    static const base::Section<SlowMoSpec> keys{
        {P::of("algorithms", "base", "\"local_sgd\"",
               "the inner algorithm: local_sgd (default period: this one's), dsgd, ..."),
         &SlowMoSpec::base},
        {period_parameter("12"), &SlowMoSpec::period},
        {P::number("beta", "0.5", "slow momentum").at_least(0).at_most(1), &SlowMoSpec::beta},
        {P::number("alpha", "1", "slow learning rate").at_least(0), &SlowMoSpec::alpha},
    };
    return keys;
}

class SlowMo final : public Algorithm {
public:
    SlowMo(const SlowMoSpec& spec, std::unique_ptr<Algorithm> base)
        : base_(std::move(base)), period_(spec.period), beta_(spec.beta), alpha_(spec.alpha) {}

    void declare(arena::StateTable& state) override {
        base_->declare(state);
        anchor_ = state.rows("algorithm/anchor");
        u_ = state.rows("algorithm/slow_momentum");
    }
    void before_forward(Step& step) override {
        if (step.t == 0) step.copy(step.x, anchor_, step.layout.all());
        base_->before_forward(step);
    }
    void ready(Step& step, arena::Columns columns) override { base_->ready(step, columns); }
    void after_backward(Step& step) override {
        base_->after_backward(step);
        if ((step.t + 1) % period_ != 0) return;
        const arena::Columns all = step.layout.all();
        const double lr = step.numbers.lr;
        step.combine(u_, {{beta_, u_}, {1 / lr, anchor_}, {-1 / lr, step.x}}, all);
        step.combine(anchor_, {{1, anchor_}, {-alpha_ * lr, u_}}, all);
        step.copy(anchor_, step.x, all);
    }
    Sent sent(int64_t t, graphs::Round round) const override { return base_->sent(t, round); }

private:
    std::unique_ptr<Algorithm> base_;
    int64_t period_;
    double beta_, alpha_;
    arena::Rows anchor_, u_;
};

std::unique_ptr<Algorithm> make_slowmo(const SlowMoSpec& spec, const AlgorithmContext& context) {
    return std::make_unique<SlowMo>(spec, entry_of(spec.base).make(spec.base, context));
}

// Checks that every iteration of the base algorithm ends with an averaging of x that may be global.
// The period of local_sgd is by default that of slowmo.
void resolve_base_of_slowmo(const SlowMoSpec& spec, base::Json& base, const std::string& pointer) {
    if (base == "local_sgd") base = {{"type", "local_sgd"}};
    const bool local = base.is_object() && base.value("type", base::Json()) == "local_sgd";
    if (local && !base.contains("period")) {
        base["period"] = spec.period;
    }
    base = resolve_algorithm(base, pointer);
    const std::string& type = entry_of(base).name;
    const bool in_order = base.value("order", "adapt_then_combine") == "adapt_then_combine";
    for (const char* good : {"dsgd", "averaged_momentum", "qg_dsgdm", "local_sgd"}) {
        if (type == good && in_order) return;
    }
    throw base::UserError(pointer + ": slowmo cannot use " + type +
                          (in_order ? "" : " in this order") +
                          " (its iterations must end with an averaging of the parameters, and it "
                          "must not correct for this averaging): choose local_sgd, dsgd in the "
                          "order adapt_then_combine, averaged_momentum or qg_dsgdm");
}

// Only one base algorithm, local_sgd, has its own schedule.
std::unique_ptr<graphs::Schedule> schedule_slowmo(const SlowMoSpec& spec,
                                                  std::shared_ptr<const graphs::Schedule> graph,
                                                  const graphs::RunFacts& run) {
    graphs::UsePattern uses{.instead = spec.period};
    if (entry_of(spec.base).name == "local_sgd") {
        const LocalSgdSpec base = LocalSgdSpec::section().read(spec.base);
        uses.period = base.period;
        uses.from = base::to_iterations(base.start, run);
    }
    return graphs::with_global_averages(std::move(graph), uses);
}

void refine_slowmo(const SlowMoSpec& spec, Traits& traits) {
    const Traits base = traits_of(entry_of(spec.base), spec.base);
    traits.optimizer = base.optimizer;
    traits.messages = base.messages;
    traits.keeps_received_rows = base.keeps_received_rows;
    traits.replica_change = base.replica_change;
}

}  // namespace

AlgorithmEntry slowmo_entry() {
    return {"slowmo",
            "slow momentum over a base algorithm, with a global average after every H iterations",
            make_slowmo,
            {.divides_by_lr = true,
             .one_start = true,
             .mean = MeanRule::none,
             .bias = Bias::none,
             .plain_alone = false},
            {.schedule = schedule_slowmo,
             .refine = refine_slowmo,
             .resolve_base = resolve_base_of_slowmo}};
}

}  // namespace dbench::algorithms
