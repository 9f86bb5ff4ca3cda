// Tests that the rows of algorithms read their keys: rules that concern several keys, defaults that
// depend on other keys, and traits and schedules that follow from keys.

#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/compatibility.hpp"
#include "base/message_of.hpp"
#include "catch.hpp"

namespace dbench::algorithms {
namespace {

using base::Json;

/// Returns the message that refuses these keys; "" if they are accepted.
std::string refusal(const char* algorithm) {
    return base::message_of([&] { resolve_algorithm(Json::parse(algorithm)); });
}

Traits traits_of_keys(const char* algorithm) {
    return facts_of(resolve_algorithm(Json::parse(algorithm))).traits;
}

/// Returns the schedule that the algorithm derives from a ring of eight replicas.
std::unique_ptr<graphs::Schedule> schedule_over_ring(const char* algorithm) {
    const Json resolved = resolve_algorithm(Json::parse(algorithm));
    const graphs::RunFacts run{{.iterations = 100, .per_epoch = 10, .samples_per_iteration = 8}};
    return entry_of(resolved).rules.schedule(
        resolved, graphs::make_graph("ring", {8, 1, run}, "/graph"), run);
}

/// Returns the iterations below `end` in which replica 0 receives from this many others.
std::vector<int64_t> iterations_with(const graphs::Schedule& schedule, size_t others, int64_t end) {
    std::vector<int64_t> found;
    for (int64_t t = 0; t < end; ++t) {
        size_t count = 0;
        for (const graphs::Link& link : schedule.in(schedule.at(t), 0)) count += link.peer != 0;
        if (count == others) found.push_back(t);
    }
    return found;
}

}  // namespace

TEST_CASE("Keys that do not suit each other are refused") {
    struct Case {
        const char *refused, *accepted, *message;
    };
    const Case cases[] = {
        {R"({"type": "diloco", "period": 8, "fragments": 3})",
         R"({"type": "diloco", "period": 9, "fragments": 3})",
         "/algorithm/fragments: must divide period (one fragment is exchanged every period / "
         "fragments iterations; found 8 / 3): choose a divisor of period"},
        {R"({"type": "diloco", "period": 8, "fragments": 2, "delay": 4})",
         R"({"type": "diloco", "period": 8, "fragments": 2, "delay": 3})",
         "/algorithm/delay: must be below period / fragments = 4 (an averaging ends before the "
         "next one begins): lower it"},
        {R"({"type": "diloco", "period": 8, "gpus_per_node": 2, "delay": 1})",
         R"({"type": "diloco", "period": 8, "gpus_per_node": 2})",
         "/algorithm/gpus_per_node: nodes average all parameters in every iteration (no other "
         "averaging may be in flight): leave out fragments and delay"},
        {R"({"type": "dsgd_ac", "a_min": 1, "a_max": 0})",
         R"({"type": "dsgd_ac", "a_min": 0, "a_max": 0})",
         "/algorithm/a_min: must be at most a_max (0): lower it"},
        {R"({"type": "dsgd_ac", "a_min": 0.5, "a_max": 0.1234567})",
         R"({"type": "dsgd_ac", "a_min": 0.1234567, "a_max": 0.1234567})",
         "/algorithm/a_min: must be at most a_max (0.1234567): lower it"},
        {R"({"type": "hierarchical_averaging", "period": 3, "outer_period": 8})",
         R"({"type": "hierarchical_averaging", "period": 4, "outer_period": 8})",
         "/algorithm/outer_period: must be a multiple of period = 3 (found 8): choose 9"},
        {R"({"type": "ntk_dfl", "steps": 10, "candidates": 4})",
         R"({"type": "ntk_dfl", "steps": 10, "candidates": 5})",
         "/algorithm/candidates: 4 does not divide 10, the value of /algorithm/steps (candidates "
         "are evenly spaced): choose 2"},
        {R"({"type": "qg_gutm", "mu": 0.5, "beta": 0.5})",
         R"({"type": "qg_gutm", "mu": 0.4, "beta": 0.5})",
         "/algorithm/mu: must be below 1 - beta = 0.5 (otherwise the mean of the replicas "
         "diverges): choose a smaller one, for example the authors' 0.06 with beta 0.9"},
        {R"({"type": "relaysgd", "form": "grad", "missing": "start"})",
         R"({"type": "relaysgd", "missing": "start"})",
         "/algorithm/missing: start requires the form model (the form grad relays updates, and an "
         "update that has not arrived counts as 0): remove it, or choose \"form\": \"model\""},
        {R"({"type": "slowmo", "base": {"type": "dsgd", "order": "combine_then_adapt"}})",
         R"({"type": "slowmo", "base": "dsgd"})",
         "/algorithm/base: slowmo cannot use dsgd in this order (its iterations must end with an "
         "averaging of the parameters, and it must not correct for this averaging): choose "
         "local_sgd, dsgd in the order adapt_then_combine, averaged_momentum or qg_dsgdm"},
    };
    for (const Case& one : cases) {
        INFO(one.refused);
        CHECK(refusal(one.refused) == one.message);
        CHECK(refusal(one.accepted).empty());
    }
}

TEST_CASE("The base of slowmo has the period of slowmo by default") {
    const auto base_of = [](const char* algorithm) {
        return resolve_algorithm(Json::parse(algorithm)).at("base").dump();
    };
    const std::string start = R"("start":{"iterations":0}})";
    CHECK(base_of(R"({"type": "slowmo", "period": 5})") ==
          R"({"type":"local_sgd","period":5,)" + start);
    CHECK(base_of(R"({"type": "slowmo", "period": 5, "base": {"type": "local_sgd"}})") ==
          R"({"type":"local_sgd","period":5,)" + start);
    CHECK(base_of(R"({"type": "slowmo", "base": {"type": "local_sgd", "period": 3}})") ==
          R"({"type":"local_sgd","period":3,)" + start);
    CHECK(base_of(R"({"type": "slowmo", "base": "qg_dsgdm"})") ==
          R"({"type":"qg_dsgdm","beta":0.9,"mu":null,"nesterov":false})");
}

TEST_CASE("A base of slowmo without a type is refused") {
    CHECK(refusal(R"({"type": "slowmo", "base": {"type": 4}})") ==
          "/algorithm/base/type: must be a string (found number 4)");
    CHECK(refusal(R"({"type": "slowmo", "base": {}})").starts_with("/algorithm/base/type: "));
}

TEST_CASE("Traits follow from keys") {
    CHECK_FALSE(traits_of_keys(R"("dsgd")").keeps_received_rows);
    CHECK(
        traits_of_keys(R"({"type": "dsgd", "order": "combine_while_adapt"})").keeps_received_rows);
    CHECK_FALSE(
        traits_of_keys(R"({"type": "dsgd", "order": "combine_then_adapt"})").keeps_received_rows);
    CHECK_FALSE(traits_of_keys(R"("gradient_tracking")").keeps_received_rows);
    CHECK(traits_of_keys(R"({"type": "gradient_tracking", "form": "diging"})").keeps_received_rows);
    CHECK(traits_of_keys(R"("momentum_tracking")").messages == Messages::exact_rows);
    CHECK(traits_of_keys(R"({"type": "momentum_tracking", "start": "local"})").messages ==
          Messages::rows);
    CHECK_FALSE(traits_of_keys(R"("sgp")").keeps_received_rows);
    CHECK(traits_of_keys(R"({"type": "sgp", "order": "awc"})").keeps_received_rows);
    CHECK(traits_of_keys(R"("cocod_sgd")").keeps_received_rows);
    CHECK(traits_of_keys(R"("overlap_local_sgd")").keeps_received_rows);
    CHECK_FALSE(traits_of_keys(R"("diloco")").keeps_received_rows);
    CHECK(traits_of_keys(R"({"type": "diloco", "delay": 1})").keeps_received_rows);
    CHECK_FALSE(traits_of_keys(R"("relaysgd")").one_start);
    CHECK(traits_of_keys(R"({"type": "relaysgd", "form": "grad"})").one_start);
    CHECK(traits_of_keys(R"({"type": "relaysgd", "missing": "start"})").one_start);
    CHECK(traits_of_keys(R"({"type": "feddkd", "temperature": 3})").temperature == 3);
    const char* over_qg = R"({"type": "slowmo", "base": "qg_dsgdm"})";
    CHECK(traits_of_keys(over_qg).optimizer == OptimizerNeed::plain_sgd);
    CHECK(traits_of_keys(R"("slowmo")").optimizer == OptimizerNeed::any);
}

TEST_CASE("Schedules follow from keys") {
    const std::vector<int64_t> none;
    const auto local =
        schedule_over_ring(R"({"type": "local_sgd", "period": 4, "start": {"iterations": 2}})");
    CHECK(iterations_with(*local, 2, 9) == std::vector<int64_t>{0, 1, 3, 7});
    const auto slow = schedule_over_ring(
        R"({"type": "slowmo", "period": 6, "base": {"type": "local_sgd", "period": 2}})");
    CHECK(iterations_with(*slow, 2, 12) == std::vector<int64_t>{1, 3, 7, 9});
    CHECK(iterations_with(*slow, 7, 12) == std::vector<int64_t>{5, 11});
    const auto every = schedule_over_ring(R"({"type": "slowmo", "period": 6, "base": "dsgd"})");
    CHECK(iterations_with(*every, 2, 7) == std::vector<int64_t>{0, 1, 2, 3, 4, 6});
    const auto nodes = schedule_over_ring(
        R"({"type": "hierarchical_averaging", "gpus_per_node": 4, "period": 2, "outer_period": 6})");
    CHECK(iterations_with(*nodes, 3, 7) == std::vector<int64_t>{1, 3});
    CHECK(iterations_with(*nodes, 2, 7) == std::vector<int64_t>{5});
    const auto parts =
        schedule_over_ring(R"({"type": "diloco", "period": 6, "fragments": 2, "delay": 1})");
    CHECK(iterations_with(*parts, 2, 9) == std::vector<int64_t>{1, 4, 7});
    const auto exchanges = schedule_over_ring(R"({"type": "choco", "period": 3})");
    CHECK(iterations_with(*exchanges, 2, 7) == std::vector<int64_t>{2, 5});
}

}  // namespace dbench::algorithms
