#include "graphs/control/consensus_target.hpp"

namespace dbench::graphs {

const base::Section<ConsensusTargetSpec>& ConsensusTargetSpec::section() {
    using P = base::Parameter;
    using S = ConsensusTargetSpec;
    static const base::Section<S> keys{
        {P::number("target", "null", "consensus distance; null: fraction of its running maximum")
             .at_least(0)
             .or_null(),
         &S::target},
        {P::number("fraction", "0.5", "share of the largest distance before averaging so far")
             .greater_than(0),
         &S::fraction},
        {P::duration("every", R"({"iterations": 1})", "between measurements").greater_than(0),
         &S::every},
        {P::integer("max_rounds", "8", "rounds: most averagings in an iteration").at_least(1),
         &S::max_rounds},
    };
    return keys;
}

}  // namespace dbench::graphs
