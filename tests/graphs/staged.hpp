#pragma once
// Helpers for tests of StagedSchedule: graphs from specs, and their degrees.

#include <nlohmann/json.hpp>

#include "base/message_of.hpp"
#include "catch.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs::testing {

using Catch::Matchers::ContainsSubstring;

const RunFacts kHundred{{100, 10, 1}, 4};  ///< A run of 100 iterations, ten per epoch.

inline std::shared_ptr<Schedule> made(const std::string& spec, int n, RunFacts run = kHundred) {
    return make_graph(base::Json::parse(spec), {n, 1, run});
}

/// Fails the test if the graph is not a StagedSchedule.
inline std::shared_ptr<StagedSchedule> staged(const std::string& spec, int n,
                                              RunFacts run = kHundred) {
    const auto found = std::dynamic_pointer_cast<StagedSchedule>(made(spec, n, run));
    REQUIRE(found);
    return found;
}

/// Returns the error message of building a graph; empty if it succeeds.
inline std::string failure(const std::string& spec, int n = 16) {
    return base::message_of([&] { made(spec, n); });
}

/// Returns the mean degree without self in iteration t.
inline double degree(const Schedule& schedule, int64_t t) {
    double links = 0;
    for (int i = 0; i < schedule.size(); ++i) {
        links += static_cast<double>(schedule.out(schedule.at(t), i).size()) - 1;
    }
    return links / schedule.size();
}

/// Returns the degrees of iterations 0 to `end` - 1.
inline std::vector<double> degrees(const Schedule& schedule, int64_t end = 100) {
    std::vector<double> all;
    for (int64_t t = 0; t < end; ++t) all.push_back(degree(schedule, t));
    return all;
}

/// Returns the degrees of iterations 0 to `end` - 1; `change` maps an iteration to the degree from
/// there on.
inline std::vector<double> steps(const std::map<int64_t, double>& change, int64_t end = 100) {
    std::vector<double> all;
    for (int64_t t = 0; t < end; ++t) all.push_back(std::prev(change.upper_bound(t))->second);
    return all;
}

}  // namespace dbench::graphs::testing
