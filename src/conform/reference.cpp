#include "conform/reference.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/algorithm.hpp"
#include "conform/families.hpp"

namespace dbench::conform {
// Algorithms that have a reference; each, make_NAME(), is in the file of its kind: dsgd.cpp,
// momentum.cpp, corrections.cpp (exact under heterogeneity), local_steps.cpp, outer.cpp (an outer
// optimizer), compressed.cpp, push_sum.cpp, kernel.cpp (a kernel of Jacobians), ...
#define DBENCH_REFERENCES(ROW)  \
    ROW(dsgd)                   \
    ROW(centralized)            \
    ROW(averaged_momentum)      \
    ROW(decentlam)              \
    ROW(qg_dsgdm)               \
    ROW(qg_adam)                \
    ROW(dadam)                  \
    ROW(d_amsgrad)              \
    ROW(d2)                     \
    ROW(exact_diffusion)        \
    ROW(gradient_tracking)      \
    ROW(gut)                    \
    ROW(qg_gutm)                \
    ROW(relaysgd)               \
    ROW(local_sgd)              \
    ROW(gossip_pga)             \
    ROW(hierarchical_averaging) \
    ROW(slowmo)                 \
    ROW(consensus_control)      \
    ROW(dsgd_ac)                \
    ROW(diloco)                 \
    ROW(noloco)                 \
    ROW(gasloc)                 \
    ROW(cocod_sgd)              \
    ROW(overlap_local_sgd)      \
    ROW(feddkd)                 \
    ROW(ntk_dfl)                \
    ROW(sgp)                    \
    ROW(osgp)                   \
    ROW(quantized_push_sum)     \
    ROW(choco)                  \
    ROW(adagossip)              \
    ROW(dcd)                    \
    ROW(ecd)                    \
    ROW(deepsqueeze)            \
    ROW(beer)                   \
    ROW(motef)                  \
    ROW(moniqua)                \
    ROW(powergossip)            \
    ROW(ad_psgd)                \
    ROW(swift)

#define ROW_DECLARED(name) std::unique_ptr<Reference> make_##name(Parts parts);
#define ROW_MADE(name) {#name, make_##name},
DBENCH_REFERENCES(ROW_DECLARED)

namespace {

struct Row {
    const char* name;
    Factory make;
};

constexpr Row kReferences[] = {DBENCH_REFERENCES(ROW_MADE)};

}  // namespace

std::unique_ptr<Reference> make_reference(const base::Json& algorithm, const base::Json& optimizer,
                                          const ReferenceContext& context) {
    const std::string type = algorithm.at("type").get<std::string>();
    for (const Row& row : kReferences) {
        if (type != row.name) continue;
        const auto& accepts = base::find_entry(algorithms::algorithm_table(), type)->accepts;
        const bool plain = accepts.optimizer == algorithms::OptimizerNeed::plain_sgd;
        if (plain && !is_plain(optimizer)) return nullptr;
        auto local = make_local_optimizer(optimizer);
        if (!local) return nullptr;
        return row.make({algorithm, optimizer, std::move(local), context});
    }
    return nullptr;
}

}  // namespace dbench::conform
