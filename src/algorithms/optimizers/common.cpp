#include "algorithms/optimizers/common.hpp"

#include "algorithms/optimizers/optimizer_spec.hpp"
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

std::vector<double> decay_per_tensor(const base::Json& spec, const arena::Layout& layout) {
    const OptimizerSpec common = OptimizerSpec::section().read(spec);
    std::vector<double> out;
    for (const auto& tensor : layout.tensors()) {
        const bool exempt = common.weights_only && tensor.kind != arena::TensorKind::weight;
        out.push_back(exempt ? 0.0 : common.weight_decay);
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
