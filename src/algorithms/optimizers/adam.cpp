// The optimizers adam and adamw.
#include "algorithms/optimizers/common.hpp"

namespace dbench::algorithms {
namespace {

/// The defaults are those of torch.optim.
struct AdamSpec : MomentsSpec {
    bool amsgrad;          ///< Divides by the largest second moment so far.
    bool bias_correction;  ///< Corrects for moments that start at 0.

    static const base::Section<AdamSpec>& section();
};

struct AdamwSpec : AdamSpec {
    static const base::Section<AdamwSpec>& section();
};

template <class S>
base::Section<S> adam_keys(const std::string& weight_decay) {
    using base::Parameter;
    return {MomentsSpec::keys(weight_decay),
            {{Parameter::flag("amsgrad", "false",
                              "divides by the largest second moment so far (AMSGrad)"),
              &AdamSpec::amsgrad},
             {Parameter::flag("bias_correction", "true", "corrects for moments that start at 0"),
              &AdamSpec::bias_correction}}};
}

const base::Section<AdamSpec>& AdamSpec::section() {
    static const base::Section<AdamSpec> keys = adam_keys<AdamSpec>("0");
    return keys;
}

const base::Section<AdamwSpec>& AdamwSpec::section() {
    static const base::Section<AdamwSpec> keys = adam_keys<AdamwSpec>("0.01");
    return keys;
}

/// torch.optim.Adam (coupled decay: g += wd x) and AdamW (decoupled decay: d contains wd x, with x
/// at the point of the gradient). Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019,
/// algorithm 2; amsgrad: Reddi, Kale and Kumar 2018, algorithm 2. Keeps both moments, and with
/// amsgrad the largest second moment.
class Adam : public Optimizer {
public:
    Adam(const AdamSpec& spec, const arena::Layout& layout, bool decoupled)
        : layout_(layout),
          decay_(decay_per_tensor(spec, layout)),
          beta1_(spec.betas.at(0)),
          beta2_(spec.betas.at(1)),
          eps_(spec.eps),
          decoupled_(decoupled),
          amsgrad_(spec.amsgrad),
          bias_correction_(spec.bias_correction) {}

    void declare(arena::StateTable& state) override {
        first_ = state.rows("optimizer/first_moment");
        second_ = state.rows("optimizer/second_moment");
        if (amsgrad_) largest_ = state.rows("optimizer/largest_second_moment");
    }

    void step(arena::Rows out, arena::Rows base, arena::Rows at, arena::Rows gradient,
              arena::Columns columns, const StepNumbers& numbers, double* squared_update,
              arena::Queue& queue) override {
        arena::adam_update(layout_, out, base, at, gradient, rows_of_replicas(first_, out),
                           rows_of_replicas(second_, out), largest_of(out), columns,
                           numbers_of(numbers), squared_update, queue);
    }
    bool step_and_mix(const arena::Mixing& mixing, arena::Rows out, arena::Rows x,
                      arena::Rows gradient, arena::Columns columns, const StepNumbers& numbers,
                      double* squared_update, arena::Queue& queue) override {
        arena::adam_update_and_mix(layout_, out, x, gradient, rows_of_replicas(first_, out),
                                   rows_of_replicas(second_, out), largest_of(out), columns,
                                   numbers_of(numbers), squared_update, mixing, queue);
        return true;
    }
    bool step_of_means(arena::Rows out, std::span<const std::vector<arena::Term>> base,
                       arena::Rows at, arena::Rows gradient, arena::Columns columns,
                       const StepNumbers& numbers, double* squared_update) override {
        arena::adam_update_of_means(layout_, out, base, at, gradient, rows_of_replicas(first_, out),
                                    rows_of_replicas(second_, out), largest_of(out), columns,
                                    numbers_of(numbers), squared_update);
        return true;
    }

private:
    arena::Rows largest_of(arena::Rows rows) const {
        return amsgrad_ ? rows_of_replicas(largest_, rows) : largest_;
    }
    arena::AdamHyperparameters numbers_of(const StepNumbers& numbers) const {
        return {numbers.lr,   beta1_,     beta2_, eps_,
                numbers.step, decoupled_, decay_, bias_correction_};
    }

    arena::Layout layout_;
    arena::ReadOnlyArray<double> decay_;
    double beta1_, beta2_, eps_;
    bool decoupled_, amsgrad_, bias_correction_;
    arena::Rows first_, second_, largest_;
};

std::unique_ptr<Optimizer> make_adam(const AdamSpec& spec, const arena::Layout& layout) {
    return std::make_unique<Adam>(spec, layout, false);
}

std::unique_ptr<Optimizer> make_adamw(const AdamwSpec& spec, const arena::Layout& layout) {
    return std::make_unique<Adam>(spec, layout, true);
}

}  // namespace

OptimizerEntry adam_optimizer() {
    return {"adam", "Adam (Kingma and Ba 2015) with coupled decay", make_adam};
}

OptimizerEntry adamw_optimizer() {
    return {"adamw", "AdamW (Loshchilov and Hutter 2019) with decoupled decay", make_adamw};
}

}  // namespace dbench::algorithms
