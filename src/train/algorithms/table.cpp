#include "train/algorithms/algorithm.hpp"

namespace dbench::train {

const std::vector<AlgorithmEntry>& algorithm_table() {
    using P = base::Parameter;
    static const std::vector<AlgorithmEntry> table = {
        {{"centralized", "gradient all-reduce, the same update everywhere (takes no graph)", {}},
         GraphNeed::none,
         make_centralized},
        {{"dsgd",
          "decentralized SGD: parameters averaged with neighbours",
          {P::choice("order", "\"adapt_then_combine\"",
                     {"adapt_then_combine", "combine_while_adapt", "combine_then_adapt"},
                     "when the exchange happens: after, during or before the update")}},
         GraphNeed::doubly_stochastic,
         make_dsgd},
    };
    return table;
}

}  // namespace dbench::train
