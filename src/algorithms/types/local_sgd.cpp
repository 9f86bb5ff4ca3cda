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

#include "algorithms/types/local_sgd.hpp"

#include "graphs/schedules/selection.hpp"

namespace dbench::algorithms {
namespace {

std::unique_ptr<graphs::Schedule> schedule_local_sgd(const LocalSgdSpec& spec,
                                                     std::shared_ptr<const graphs::Schedule> graph,
                                                     const graphs::RunFacts& run) {
    const int n = graph->size();
    return graphs::periodic_schedule(std::move(graph), graphs::no_exchange_schedule(n), spec.period,
                                     base::to_iterations(spec.start, run));
}

}  // namespace

const base::Section<LocalSgdSpec>& LocalSgdSpec::section() {
    static const base::Section<LocalSgdSpec> keys{
        {period_parameter("8"), &LocalSgdSpec::period},
        {base::Parameter::duration("start", R"({"iterations": 0})",
                                   "post-local SGD: averages in every iteration before this"),
         &LocalSgdSpec::start},
    };
    return keys;
}

AlgorithmEntry local_sgd_entry() {
    return {"local_sgd",
            "local steps, averaging with neighbours after every H of them",
            make_over_schedule<LocalSgdSpec>,
            {},
            {.schedule = schedule_local_sgd}};
}

}  // namespace dbench::algorithms
