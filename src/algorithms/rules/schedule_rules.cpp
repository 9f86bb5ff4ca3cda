// Rules about the schedule of the exchanges.

#include <string>

#include "algorithms/rules/rules.hpp"

namespace dbench::algorithms {
namespace {

Finding check_repeats(const Facts& f) {
    if (!f.schedule || !f.schedule->repeats || f.traits.repeats_averaging) return {};
    return Problem{"/graph", "averages several times in an iteration (" + f.algorithm + " cannot)",
                   "choose \"by\": \"degree\", or the algorithm dsgd"};
}

Finding check_staged(const Facts& f) {
    if (!f.schedule || !f.schedule->staged || f.traits.staged) return {};
    return Problem{
        "/graph",
        "changes with the run's iterations (with " + f.algorithm + " each replica counts its own)",
        "choose a single graph, or the algorithm dsgd"};
}

Finding check_silence(const Facts& f) {
    if (!f.schedule || !f.schedule->silent) return {};
    return Problem{"/algorithm/period",
                   "nothing is exchanged in the run's " + std::to_string(f.schedule->iterations) +
                       " iterations",
                   "a shorter period, a longer /length, or a /graph with edges would change that",
                   true};
}

Finding check_barriers(const Facts& f) {
    if (!f.schedule || !f.schedule->barriers || !f.traits.asynchronous) return {};
    return Problem{"/profile/every",
                   "replicas wait for one another before every iteration that is profiled, and "
                   "here every iteration is",
                   "longer /profile/every and /profile/variance/every would let them run "
                   "independently",
                   true};
}

}  // namespace

std::vector<Rule> schedule_rules() {
    return {
        {"repeated averaging",
         "a controller that repeats averagings requires an algorithm that can", check_repeats},
        {"staged", "an asynchronous algorithm requires a single graph", check_staged},
        {"silence", "warning: a run exchanges something", check_silence},
        {"barriers", "warning: asynchronous replicas do not wait in every iteration",
         check_barriers},
    };
}

}  // namespace dbench::algorithms
