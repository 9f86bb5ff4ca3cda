#include "train/spec/checkpoint_spec.hpp"

namespace dbench::train {

using base::Parameter;

const base::Section<CheckpointSpec>& CheckpointSpec::section() {
    static const base::Section<CheckpointSpec> keys{
        {Parameter::duration("every", "null", "how often; null: only if a signal ends the run")
             .greater_than(0)
             .or_null(),
         &CheckpointSpec::every},
        {Parameter::integer("keep", "2", "how many checkpoints are kept").at_least(1),
         &CheckpointSpec::keep},
        {base::Words<ReplicaCountChange>(
             "replicas",
             {{"refuse", ReplicaCountChange::refuse},
              {"clone", ReplicaCountChange::clone},
              {"merge", ReplicaCountChange::merge}},
             ReplicaCountChange::refuse,
             "what --resume does if the number of replicas has changed"),
         &CheckpointSpec::replicas},
    };
    return keys;
}

}  // namespace dbench::train
