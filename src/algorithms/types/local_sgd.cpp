// Local SGD (Stich 2018, arXiv 1805.09767) over any graph, with any local optimizer d:
//
//     x <- x - lr d(g(x));   after every H-th iteration  x <- W x
//
// Post-local SGD (Lin et al. 2018, arXiv 1808.07217) averages in every iteration up to `start`, and
// in every H-th from then on. On the complete graph these are the papers' algorithms. The code is
// dsgd (adapt_then_combine) with W_t = I between exchanges.
//
// * State: none.
// * Sends: one row per neighbour and exchange.
// * Requires: nothing beyond a doubly stochastic W.

#include <nlohmann/json.hpp>

#include "algorithms/entries.hpp"
#include "base/duration.hpp"
#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {
namespace {

std::unique_ptr<graphs::Schedule> schedule_local_sgd(const base::Json& spec,
                                                     std::shared_ptr<const graphs::Schedule> graph,
                                                     const graphs::RunFacts& run) {
    const int n = graph->size();
    return graphs::periodic_schedule(std::move(graph), graphs::no_exchange_schedule(n),
                                     spec.at("period"), base::to_iterations(spec.at("start"), run));
}

}  // namespace

AlgorithmEntry local_sgd_entry() {
    return {
        {"local_sgd",
         "local steps, averaging with neighbours after every H of them",
         {period_parameter("8"),
          base::Parameter::duration("start", R"({"iterations": 0})",
                                    "post-local SGD: averages in every iteration before this")}},
        make_over_schedule,
        {},
        schedule_local_sgd};
}

}  // namespace dbench::algorithms
