#include "algorithms/optimizers/common.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dbench::algorithms {

void Optimizer::add_decay(arena::Rows, arena::Rows, arena::Columns) {
    throw std::logic_error("only plain SGD gives its decay away");
}

std::vector<double> decay_per_tensor(const base::Json& spec, const arena::Layout& layout) {
    const double decay = spec.at("weight_decay").get<double>();
    const bool weights_only = spec.at("decay") == "weights";
    std::vector<double> out;
    for (const auto& tensor : layout.tensors()) {
        const bool spared = weights_only && tensor.kind != arena::TensorKind::weight;
        out.push_back(spared ? 0.0 : decay);
    }
    return out;
}

arena::Rows matching(arena::Rows state, arena::Rows rows) {
    DBENCH_EXPECT(rows.first >= state.first &&
                  rows.first + rows.count <= state.first + state.count);
    arena::Rows out = state.only(rows.first - state.first);
    out.count = rows.count;
    return out;
}

}  // namespace dbench::algorithms
