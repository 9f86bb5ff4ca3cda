#pragma once
// Schedules that go from graph to graph, for tests: made of a spec, and counted.

#include <nlohmann/json.hpp>

#include "base/message_of.hpp"
#include "catch.hpp"
#include "graphs/schedules/staged.hpp"

namespace dbench::graphs::testing {

using Catch::Matchers::ContainsSubstring;

const RunFacts kHundred{{100, 10, 1}, 4};  ///< iterations, ten to an epoch

inline std::shared_ptr<Schedule> made(const std::string& spec, int n, RunFacts run = kHundred) {
    return make_graph(base::Json::parse(spec), {n, 1, run});
}

/// Fails where it is one graph.
inline std::shared_ptr<Staged> staged(const std::string& spec, int n, RunFacts run = kHundred) {
    const auto found = std::dynamic_pointer_cast<Staged>(made(spec, n, run));
    REQUIRE(found);
    return found;
}

/// Why there is no such graph; empty where there is one.
inline std::string failure(const std::string& spec, int n = 16) {
    return base::message_of([&] { made(spec, n); });
}

/// Mean degree without self in iteration t.
inline double degree(const Schedule& schedule, int64_t t) {
    double links = 0;
    for (int i = 0; i < schedule.size(); ++i) {
        links += static_cast<double>(schedule.out(schedule.at(t), i).size()) - 1;
    }
    return links / schedule.size();
}

/// Of iterations 0 to `end` - 1.
inline std::vector<double> degrees(const Schedule& schedule, int64_t end = 100) {
    std::vector<double> all;
    for (int64_t t = 0; t < end; ++t) all.push_back(degree(schedule, t));
    return all;
}

/// `change` tells the degree from each iteration on, up to the next.
inline std::vector<double> steps(const std::map<int64_t, double>& change, int64_t end = 100) {
    std::vector<double> all;
    for (int64_t t = 0; t < end; ++t) all.push_back(std::prev(change.upper_bound(t))->second);
    return all;
}

}  // namespace dbench::graphs::testing
