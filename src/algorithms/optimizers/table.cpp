// The table of optimizers.

#include <nlohmann/json.hpp>

#include "algorithms/optimizers/optimizer.hpp"
#include "base/error.hpp"

namespace dbench::algorithms {

// In the order of the documentation. Each row, NAME_optimizer(), is in the file of its optimizer.
#define DBENCH_OPTIMIZERS(ROW) ROW(sgd) ROW(adam) ROW(adamw) ROW(accum_adam) ROW(accum_adamw)

#define OPTIMIZER_DECLARED(name) OptimizerEntry name##_optimizer();
#define OPTIMIZER_MADE(name) name##_optimizer(),
DBENCH_OPTIMIZERS(OPTIMIZER_DECLARED)

const std::vector<OptimizerEntry>& optimizer_table() {
    static const std::vector<OptimizerEntry> table = {DBENCH_OPTIMIZERS(OPTIMIZER_MADE)};
    return table;
}

base::Json resolve_optimizer(const base::Json& given, const std::string& pointer) {
    base::Json out =
        base::resolve_member(given, pointer, "optimizer", base::entries_of(optimizer_table()));
    if (out.value("nesterov", false) && out.at("momentum") == 0) {
        throw base::UserError(pointer +
                              "/nesterov: needs momentum (it looks ahead along the velocity, and "
                              "momentum is 0): set momentum, for example to 0.9, or nesterov to "
                              "false");
    }
    return out;
}

}  // namespace dbench::algorithms
