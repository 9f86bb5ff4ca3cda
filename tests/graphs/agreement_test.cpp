// Graphs over which replicas never agree are found, and all others are left alone.

#include "graphs/proof/agreement.hpp"

#include "base/error.hpp"
#include "dense.hpp"
#include "graphs/matrix/matrix.hpp"
#include "graphs/schedules/sequence.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

MatrixPtr pairs(int n, const std::vector<std::pair<int, int>>& edges) {
    std::vector<MatrixEntry> entries;
    for (int i = 0; i < n; ++i) entries.push_back({i, i, 1});
    for (const auto& [a, b] : edges) {
        for (const auto& [to, from] : {std::pair{a, b}, std::pair{b, a}}) {
            entries.push_back({to, from, 0.25});
            entries.push_back({to, to, -0.25});
        }
    }
    return explicit_matrix(n, std::move(entries));
}

MatrixPtr rotation(int n, int step) {
    std::vector<MatrixEntry> entries;
    for (int i = 0; i < n; ++i) entries.push_back({i, (i + step) % n, 1});
    return explicit_matrix(n, std::move(entries));
}

std::string reason_over(const MatrixPtr& matrix) {
    const auto found = find_disagreement(*static_schedule(matrix));
    return found ? found->reason + " | " + found->remedy : "";
}

}  // namespace

TEST_CASE("a graph in several parts names the part that is cut off", "[graphs]") {
    CHECK_THAT(reason_over(pairs(4, {{0, 1}, {2, 3}})),
               ContainsSubstring("replicas 0, 1 exchange nothing with the others") &&
                   ContainsSubstring("in 2 parts"));
    CHECK_THAT(reason_over(pairs(5, {{1, 2}, {2, 3}, {3, 4}, {4, 1}})),
               ContainsSubstring("replica 0 exchanges nothing") &&
                   ContainsSubstring("replicas count from 0"));
    CHECK_THAT(reason_over(pairs(16, {{0, 1}, {1, 2}, {2, 3}})),
               ContainsSubstring("replica 4 exchanges nothing") &&
                   ContainsSubstring("set /replicas to 4"));
    CHECK(reason_over(pairs(4, {{0, 1}, {1, 2}, {2, 3}})).empty());
}

TEST_CASE("a matrix that only carries parameters around never averages them", "[graphs]") {
    CHECK_THAT(reason_over(rotation(6, 1)),
               ContainsSubstring("6 groups that take turns") && ContainsSubstring("\"lazy\": 0.5"));
    // A ring without weights on the diagonal: odd and even replicas swap for ever.
    std::vector<MatrixEntry> swap;
    for (int i = 0; i < 4; ++i) {
        swap.push_back({i, (i + 1) % 4, 0.5});
        swap.push_back({i, (i + 3) % 4, 0.5});
    }
    CHECK_THAT(reason_over(explicit_matrix(4, swap)), ContainsSubstring("2 groups"));
    // A ring without such weights mixes if its size is odd.
    std::vector<MatrixEntry> odd;
    for (int i = 0; i < 5; ++i) {
        odd.push_back({i, (i + 1) % 5, 0.5});
        odd.push_back({i, (i + 4) % 5, 0.5});
    }
    CHECK(reason_over(explicit_matrix(5, odd)).empty());
    CHECK_THAT(reason_over(explicit_matrix(2, {{0, 0, -1}, {0, 1, 2}, {1, 0, 2}, {1, 1, -1}})),
               ContainsSubstring("weights are so large"));
    // Two rotations in turn whose product is the identity.
    const auto found = find_disagreement(*cyclic_schedule({rotation(4, 1), rotation(4, 3)}));
    CHECK((found && found->reason.find("separate circles") != std::string::npos));
}

TEST_CASE("what one replica learns must reach all others", "[graphs]") {
    const auto teacher = explicit_matrix(2, {{0, 0, 1}, {1, 0, 0.5}, {1, 1, 0.5}});
    CHECK_THAT(reason_over(teacher),
               ContainsSubstring("no path of links leads from replica 1 to replica 0"));
}

TEST_CASE("the graphs of a sequence count together", "[graphs]") {
    const auto a = pairs(4, {{0, 1}, {2, 3}}), b = pairs(4, {{1, 2}});
    CHECK_FALSE(find_disagreement(*cyclic_schedule({a, b})));
    CHECK(find_disagreement(*cyclic_schedule({a, a})));
    CHECK(connects_all(*cyclic_schedule({a, b})));
    CHECK_FALSE(connects_all(*static_schedule(a)));
}

TEST_CASE("all graphs of the table let replicas agree", "[graphs]") {
    for (const GraphEntry& entry : graph_table()) {
        for (const int n : {1, 2, 3, 4, 8, 12, 16, 36, 64}) {
            // By default only one of two replicas takes part, so nothing is ever exchanged.
            if (entry.name == "participation" && n == 2) continue;
            std::unique_ptr<Schedule> schedule;
            try {
                schedule = make_graph(entry.name, {n, 1, {}});
            } catch (const base::UserError&) {
                continue;  // not defined for n, or without defaults
            }
            const auto found = find_disagreement(*schedule);
            INFO(entry.name << " of " << n << ": " << (found ? found->reason : ""));
            CHECK_FALSE(found);
        }
    }
}

TEST_CASE("a sequence drawn from a graph in parts is found", "[graphs]") {
    const auto fraction = R"({"type": "participation", "fraction": 0.01})";
    const auto found = find_disagreement(*make(fraction, 8));
    CHECK((found && found->reason.find("no replica exchanges") != std::string::npos));
}
