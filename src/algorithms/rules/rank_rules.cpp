// Rules about the number of ranks, their devices, and measuring.

#include <string>

#include "algorithms/rules/rules.hpp"

namespace dbench::algorithms {
namespace {

Finding check_number_of_ranks(const Facts& f) {
    if (!f.ranks || f.ranks->ranks <= f.ranks->replicas) return {};
    const std::string n = std::to_string(f.ranks->replicas);
    return Problem{"/replicas",
                   std::to_string(f.ranks->ranks) + " ranks for " + n +
                       " replicas (every rank needs at least one)",
                   "start at most " + n + " ranks, or raise /replicas"};
}

Finding check_asynchronous_ranks(const Facts& f) {
    if (!f.ranks || !f.traits.asynchronous) return {};
    const std::string r = std::to_string(f.ranks->ranks), n = std::to_string(f.ranks->replicas);
    if (f.ranks->ranks == 1 || f.ranks->ranks == f.ranks->replicas) return {};
    return Problem{"/algorithm",
                   f.algorithm +
                       " requires all replicas in one process, or one rank for each replica "
                       "(there are " +
                       r + " ranks for " + n + " replicas)",
                   "start 1 or " + n + ", or choose the algorithm dsgd"};
}

Finding check_asynchronous_device(const Facts& f) {
    if (!f.ranks || !f.traits.asynchronous || f.ranks->ranks == 1) return {};
    if (!f.ranks->on_gpus.value_or(false)) return {};
    return Problem{"/device",
                   f.algorithm +
                       " with one rank for each replica averages in the host's memory, not on a "
                       "GPU",
                   "set \"cpu\", or start one rank"};
}

Finding check_reproducibility(const Facts& f) {
    if (!f.ranks || !f.ranks->reproducible || f.ranks->ranks == 1) return {};
    if (!f.traits.asynchronous) return {};
    return Problem{"/algorithm", "on several ranks its numbers depend on timing", "start one rank"};
}

Finding check_measured_after(const Facts& f) {
    if (!f.profiles_after.value_or(false) || !f.traits.asynchronous) return {};
    return Problem{
        "/profile/after",
        "with " + f.algorithm + " there is no moment when all replicas have just averaged",
        "leave it out, or choose the algorithm dsgd"};
}

}  // namespace

std::vector<Rule> rank_rules() {
    return {
        {"ranks", "every rank holds at least one replica", check_number_of_ranks},
        {"reproducibility", "asynchronous algorithms are reproducible on one rank only",
         check_reproducibility},
        {"asynchronous ranks",
         "an asynchronous algorithm runs on one rank, or on one rank for each replica",
         check_asynchronous_ranks},
        {"asynchronous device",
         "an asynchronous algorithm with one rank for each replica runs on the CPU",
         check_asynchronous_device},
        {"measured after", "an asynchronous algorithm cannot be measured after averaging",
         check_measured_after},
    };
}

}  // namespace dbench::algorithms
