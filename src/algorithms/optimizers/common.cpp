#include "algorithms/optimizers/common.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dbench::algorithms {

bool Optimizer::step_and_mix(const arena::Mixing&, arena::Rows, arena::Rows, arena::Rows,
                             arena::Columns, const StepNumbers&, double*, arena::Queue&) {
    return false;
}

bool Optimizer::step_of_means(arena::Rows, std::span<const std::vector<arena::Term>>, arena::Rows,
                              arena::Rows, arena::Columns, const StepNumbers&, double*) {
    return false;
}

void Optimizer::add_decay(arena::Rows, arena::Rows, arena::Columns, arena::Queue&) {
    throw std::logic_error("add_decay is defined for plain SGD only");
}

namespace {

base::Json resolve_betas(const base::Json& given, const std::string& pointer) {
    if (given.size() != 2) {
        throw base::UserError(pointer + ": must be two numbers (found " + base::short_text(given) +
                              "), for example [0.9, 0.999]");
    }
    for (size_t i = 0; i < 2; ++i) {
        if (given[i] < 1) continue;
        throw base::UserError(pointer + "/" + std::to_string(i) +
                              ": must be less than 1 (the moment would never change)");
    }
    return given;
}

}  // namespace

base::Section<MomentsSpec> MomentsSpec::keys(const std::string& weight_decay) {
    using base::Parameter;
    Parameter betas = Parameter::numbers("betas", "[0.9, 0.999]", "decay rates of the two moments")
                          .at_least(0)
                          .at_most(1);
    betas.resolve = resolve_betas;
    const auto& common = OptimizerSpec::section();
    return {
        {optimizer_key("lr", "0.001"), common},
        {betas, &MomentsSpec::betas},
        {Parameter::number("eps", "1e-8", "added to the root of the second moment").at_least(0),
         &MomentsSpec::eps},
        {optimizer_key("weight_decay", weight_decay), common},
        {optimizer_key("decay"), common},
        {optimizer_key("clip_norm"), common},
    };
}

std::vector<double> decay_per_tensor(const OptimizerSpec& spec, const arena::Layout& layout) {
    std::vector<double> out;
    for (const auto& tensor : layout.tensors()) {
        const bool exempt = spec.weights_only && tensor.kind != arena::TensorKind::weight;
        out.push_back(exempt ? 0.0 : spec.weight_decay);
    }
    return out;
}

arena::Rows rows_of_replicas(arena::Rows state, arena::Rows rows) {
    DBENCH_EXPECT(rows.first >= state.first &&
                  rows.first + rows.count <= state.first + state.count);
    arena::Rows out = state.only(rows.first - state.first);
    out.count = rows.count;
    return out;
}

}  // namespace dbench::algorithms
