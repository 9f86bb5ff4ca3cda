#include "conform/reference.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/algorithm.hpp"
#include "algorithms/algorithm_list.hpp"
#include "conform/families.hpp"

namespace dbench::conform {
// The reference of each algorithm, make_NAME(), is in the file of its kind: dsgd.cpp, momentum.cpp,
// corrections.cpp (exact under heterogeneity), local_steps.cpp, outer.cpp (an outer optimizer),
// compressed.cpp, push_sum.cpp, kernel.cpp (a kernel of Jacobians), ...
#define ROW_DECLARED(name) std::unique_ptr<Reference> make_##name(Parts parts);
#define ROW_MADE(name) {#name, make_##name},
DBENCH_ALGORITHMS(ROW_DECLARED)

namespace {

struct Row {
    const char* name;
    Factory make;
};

constexpr Row kReferences[] = {DBENCH_ALGORITHMS(ROW_MADE)};

}  // namespace

std::unique_ptr<Reference> make_reference(const base::Json& algorithm, const base::Json& optimizer,
                                          const ReferenceContext& context) {
    const std::string type = algorithm.at("type").get<std::string>();
    for (const Row& row : kReferences) {
        if (type != row.name) continue;
        const auto& traits = base::find_entry(algorithms::algorithm_table(), type)->traits;
        const bool plain = traits.optimizer == algorithms::OptimizerNeed::plain_sgd;
        if (plain && !is_plain(optimizer)) return nullptr;
        auto local = make_local_optimizer(optimizer);
        if (!local) return nullptr;
        return row.make({algorithm, optimizer, std::move(local), context});
    }
    return nullptr;
}

}  // namespace dbench::conform
