// Rules about resuming with another number of replicas.

#include <algorithm>
#include <string>

#include "algorithms/rules/rules.hpp"

namespace dbench::algorithms {
namespace {

std::optional<std::string> change_of_replicas(const Facts& f) {
    if (!f.resume || !f.ranks || f.resume->replicas == f.ranks->replicas) return {};
    return std::to_string(f.resume->replicas) + " replicas cannot become " +
           std::to_string(f.ranks->replicas);
}

Finding check_resumed_links(const Facts& f) {
    const auto change = change_of_replicas(f);
    if (!change || f.traits.replica_change != ReplicaChange::never) return {};
    return Problem{"/replicas",
                   *change + " with " + f.algorithm +
                       ", which stores messages of its neighbours or sums of them",
                   "set /replicas back"};
}

Finding check_resumed_means(const Facts& f) {
    const auto change = change_of_replicas(f);
    if (!change || f.traits.replica_change != ReplicaChange::multiples) return {};
    const auto [fewer, more] = std::minmax({f.resume->replicas, f.ranks->replicas});
    if (more % fewer == 0) return {};
    return Problem{"/replicas",
                   *change + " with " + f.algorithm +
                       ", whose correction relies on means over replicas, which uneven copies "
                       "change permanently",
                   "choose a multiple or a divisor of " + std::to_string(f.resume->replicas) +
                       ", such as " + std::to_string(2 * f.resume->replicas)};
}

Finding check_resumed_texts(const Facts& f) {
    const auto change = change_of_replicas(f);
    if (!change || !f.model || !f.model->carries) return {};
    return Problem{"/replicas",
                   *change +
                       " with a text that continues from batch to batch, at a position of its own "
                       "for each replica",
                   "set /replicas back"};
}

Finding check_resumed_batches(const Facts& f) {
    const auto change = change_of_replicas(f);
    if (!change || f.resume->same_global_batch) return {};
    return Problem{"/data/batch_size",
                   *change +
                       " if the batch size is given per replica (an iteration would have another "
                       "number of samples)",
                   "give it as {\"global\": samples} in runs whose replicas may change"};
}

}  // namespace

std::vector<Rule> resume_rules() {
    return {
        {"resumed links",
         "a run whose state belongs to links resumes with the same number of replicas",
         check_resumed_links},
        {"resumed means",
         "a run that relies on means resumes with a multiple or divisor of its replicas",
         check_resumed_means},
        {"resumed texts",
         "a run whose text continues from batch to batch resumes with as many replicas",
         check_resumed_texts},
        {"resumed batches",
         "a run resumes with another number of replicas only with a global batch size",
         check_resumed_batches},
    };
}

}  // namespace dbench::algorithms
