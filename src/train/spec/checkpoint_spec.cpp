#include "train/spec/checkpoint_spec.hpp"

namespace dbench::train {

using base::Parameter;

const base::Section<CheckpointSpec>& CheckpointSpec::section() {
    static const base::Section<CheckpointSpec> keys{
        {Parameter::duration("every", "null", "how often; null: never").greater_than(0).or_null(),
         &CheckpointSpec::every},
        {Parameter::integer("keep", "2", "how many checkpoints are kept").at_least(1),
         &CheckpointSpec::keep},
        {base::Words<OtherReplicas>("replicas",
                                    {{"refuse", OtherReplicas::refuse},
                                     {"clone", OtherReplicas::clone},
                                     {"merge", OtherReplicas::merge}},
                                    OtherReplicas::refuse,
                                    "what --resume does with another number of replicas"),
         &CheckpointSpec::replicas},
    };
    return keys;
}

}  // namespace dbench::train
