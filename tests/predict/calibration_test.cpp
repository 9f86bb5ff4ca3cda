// Calibrations: reading and writing, differences, and what a plan takes from them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"
#include "graphs/schedules/selection.hpp"
#include "predict/prediction.hpp"
#include "predict/simulator.hpp"

using namespace dbench;
using namespace dbench::predict;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

Calibration example() {
    Calibration c;
    c.subject = {"a processor", 8, "cpu", 1, {{"type", "mlp"}, {"parameters", 2500000}}, "float32",
                 "0.1.0 (abc)"};
    c.hosts = {"a", "a", "b", "b", "c", "c"};
    c.compute = Distribution::of_samples({0.1, 0.2, 0.4});
    c.samples = 3;
    c.update = 0.01;
    c.buckets = {{6e6, 0.5}, {4e6, 1.0}};
    c.seconds_per_byte = 1e-10;
    c.orders[Order::adapt_then_combine] = {{0.02, 2e-10, {{{7e6, 2e-3}}}}, Distribution(0.3), 7e6};
    c.orders[Order::combine_while_adapt] = {
        {0.03, 1e-10, {{{8e6, -4e-3}}}}, Distribution(0.2), 8e6};
    c.has_local = c.has_remote = true;
    c.local = {1e-6, 5e9};
    c.remote = {2e-5, 1e9};
    c.uplink = 1.5e9;
    c.exchange = {20e6, Distribution(0.03)};
    c.exchanges_with_several[2] = {40e6, Distribution(0.09)};
    OrderCosts& costs = c.orders[Order::combine_while_adapt];
    costs.exchange = {10e6, Distribution(0.5)};
    costs.changing = {10e6, Distribution(0.6)};
    c.assumptions = {"A sentence."};
    return c;
}

std::string refusal(const base::Json& json) {
    try {
        calibration_of(json, "f.json");
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("A calibration is read as it was written") {
    const Calibration c = example();
    const base::Json json = to_json(c);
    const Calibration read = calibration_of(json, "f.json");
    base::Json again = to_json(read);
    again["created"] = json.at("created");
    again["links"]["local"]["one_way"] = json.at("links").at("local").at("one_way");
    again["links"]["remote"]["one_way"] = json.at("links").at("remote").at("one_way");
    CHECK(again.dump() == json.dump());
    CHECK(differences(c.subject, read.subject).empty());
    CHECK(read.ranks_per_host() == 2);
    CHECK(read.row_bytes() == 10e6);
}

TEST_CASE("A damaged calibration is refused with the file and the key") {
    CHECK_THAT(refusal({{"format", "something"}}),
               ContainsSubstring("f.json: is not a calibration"));
    CHECK_THAT(refusal(base::Json::array()), ContainsSubstring("f.json: is not a calibration"));
    base::Json json = to_json(example());
    json["format_version"] = 2;
    CHECK_THAT(refusal(json), ContainsSubstring("format version 2"));
    for (const char* pointer : {"/update", "/compute/quantiles", "/buckets", "/machine/hosts",
                                "/links/remote/latency", "/orders/adapt_then_combine/update",
                                "/links/exchanges_with_several", "/precision", "/assumptions"}) {
        json = to_json(example());
        json[base::Json::json_pointer(pointer)] = -1;
        CHECK_THAT(refusal(json), ContainsSubstring(pointer));
        CHECK_THAT(refusal(json), ContainsSubstring("dbench calibrate"));
    }
    json = to_json(example());
    json["links"]["exchanges_with_several"][0]["quantiles"] = {0, 1};
    CHECK_THAT(refusal(json), ContainsSubstring("exchanges_with_several/quantiles: has an exchange "
                                                "that took no time"));
    json = to_json(example());
    json["orders"]["combine_while_adapt"]["prolongation"] = 3;
    CHECK_THAT(refusal(json), ContainsSubstring("combine_while_adapt/prolongation: is not a list"));
    json = to_json(example());
    json["buckets"][0]["bytes"] = 1e14;
    CHECK_THAT(refusal(json), ContainsSubstring("more bytes than the model's parameters"));
    json = to_json(example());
    json["buckets"][1]["ready"] = 0.4;
    CHECK_THAT(refusal(json), ContainsSubstring("/buckets/ready: is less than that of the bucket"));
    for (const char* pointer : {"/machine/cores", "/machine/threads_per_rank", "/replicas_per_rank",
                                "/links/exchanges_with_several/0/peers"}) {
        json = to_json(example());
        json[base::Json::json_pointer(pointer)] = 3e9;  // no int
        CHECK_THAT(refusal(json), ContainsSubstring("which is not possible"));
    }
}

TEST_CASE("Differences have a name") {
    const Subject measured = example().subject;
    const auto name_of = [&](auto&& change) {
        Subject now = measured;
        change(now);
        const auto found = differences(measured, now);
        REQUIRE(found.size() == 1);
        return found.front().name;
    };
    CHECK(name_of([](Subject& s) { s.cpu = "another"; }) == "machine");
    CHECK(name_of([](Subject& s) { s.cores = 2; }) == "machine");
    CHECK(name_of([](Subject& s) { s.threads = 2; }) == "machine");
    CHECK(name_of([](Subject& s) { s.model["parameters"] = 11; }) == "model");
    CHECK(name_of([](Subject& s) { s.precision = "float64"; }) == "precision");
    CHECK(name_of([](Subject& s) { s.program = "0.2.0"; }) == "program");
    Subject larger = measured, smaller = measured;
    larger.model["sample"] = "3x64x64";
    smaller.model["sample"] = "3x32x32";
    CHECK(differences(smaller, larger).front().text.starts_with("sample: measured with"));
    CHECK(differences(measured, larger).empty());  // a file of an earlier version
}

TEST_CASE("Quantiles, mean and variance of a distribution") {
    const Distribution d = Distribution::of_samples({3, 1, 2});
    CHECK(d.at(0) == 1);
    CHECK(d.at(0.5) == 2);
    CHECK(d.at(0.75) == 2.5);
    CHECK(d.at(1) == 3);
    CHECK(d.mean() == Approx(2));
    CHECK(d.variance() == Approx(1 / 3.));  // uniform on [1, 3]: 2^2 / 12
    CHECK(d.scaled(2).mean() == Approx(4));
    CHECK(Distribution::of_samples({5}).variance() == 0);
}

TEST_CASE("A narrowed distribution keeps its center") {
    const Distribution wide = Distribution::of_samples({0.5, 1, 3}), narrow = wide.narrowed(1, 0.5);
    CHECK(narrow.at(0) == 0.75);
    CHECK(narrow.at(0.5) == 1);
    CHECK(narrow.at(1) == 2);
}

TEST_CASE("Each order has its own costs, and those that were not measured have similar ones") {
    Calibration c = example();
    CHECK(costs_of(c, Order::adapt_then_combine).row_costs.update == 0.02);
    CHECK(costs_of(c, Order::combine_while_adapt).compute.mean() == 0.2);
    const RowCosts before = costs_of(c, Order::combine_then_adapt).row_costs;
    CHECK((before.update == 0.01 && before.seconds_per_byte == 2e-10));
    const OrderCosts sums = costs_of(c, Order::all_reduce);
    CHECK((sums.row_costs.update == 0.01 && sums.row_costs.seconds_per_byte == 1e-10));
    CHECK((sums.row_costs.prolongation.measured.at(7e6) == 2e-3 && sums.sent == 0));
    CHECK(sums.compute.mean() == c.compute.mean());
    CHECK(before.prolongation.measured.empty());  // no message moves while ranks compute
    Plan plan;
    std::vector<std::string> assumptions;
    const auto assumed = [&](const char* text = "as much in every order") {
        assumptions.clear();
        apply(c, {{0, 0, 1, 1}, 2, {}, {}}, plan, assumptions);
        return std::count_if(assumptions.begin(), assumptions.end(), [&](const std::string& each) {
            return each.find(text) != std::string::npos;
        });
    };
    CHECK(assumed() == 0);
    CHECK(assumed("did not measure all-reduces") == 1);
    CHECK(plan.orders.at(Order::all_reduce).row_costs.seconds_per_byte == 1e-10);
    c.orders[Order::all_reduce] = {{0.05, 4e-10, {{{9e6, 1e-3}}}}, Distribution(0.25), 9e6};
    CHECK(assumed("did not measure all-reduces") == 0);
    const OrderCosts& reduced = plan.orders.at(Order::all_reduce);
    CHECK((reduced.row_costs.update == 0.1 && reduced.row_costs.seconds_per_byte == 4e-10));
    CHECK((reduced.compute.mean() == 0.5 && reduced.sent == 2 * 9e6));
    CHECK(to_json(c).at("orders").at("centralized").at("sent") == 9e6);
    // A rank has two replicas, where the calibration had one.
    CHECK(plan.orders.at(Order::adapt_then_combine).row_costs.update == 0.04);
    CHECK(plan.orders.at(Order::adapt_then_combine).sent == 2 * 7e6);
    CHECK(plan.orders.at(Order::adapt_then_combine).row_costs.prolongation.of(2 * 7e6) == 4e-3);
    CHECK(plan.work.row_costs.update == 0.02);
    c.orders.clear();  // a file of an earlier version
    CHECK(assumed() == 1);
    CHECK(costs_of(c, Order::adapt_then_combine).row_costs.update == 0.01);
}

TEST_CASE("A plan for other hosts says what it takes for granted") {
    Plan plan;
    std::vector<std::string> assumptions;
    Site site;
    for (int r = 0; r < 12; ++r) site.host.push_back(r / 4);
    apply(example(), site, plan, assumptions);
    std::string all;
    for (const std::string& each : assumptions) all += each + "\n";
    CHECK_THAT(all, ContainsSubstring("A sentence."));
    CHECK_THAT(all, ContainsSubstring("2 ranks per host, the run has 4"));
    CHECK(plan.network.hosts() == 3);
    CHECK(plan.network.uplink == 1.5e9);
    CHECK(plan.work.tiles.size() == 3);
    // Sixteen ranks divide eight cores.
    site.host.assign(16, 0);
    apply(example(), site, plan, assumptions);
    CHECK(plan.work.compute.mean() == Approx(2 * example().compute.mean()));
    site.bandwidth = 1e6;
    apply(example(), site, plan, assumptions);
    CHECK(plan.network.uplink == 1e6);
}

TEST_CASE("Links vary in a plan as they did in the calibration") {
    Plan plan;
    std::vector<std::string> assumptions;
    Calibration c = example();
    Site site;
    site.host = {0, 0, 1, 1};
    const auto does_not_vary = [&] {
        assumptions.clear();
        apply(c, site, plan, assumptions);
        return std::any_of(assumptions.begin(), assumptions.end(), [](const std::string& each) {
            return each.find("does not vary") != std::string::npos;
        });
    };
    CHECK_FALSE(does_not_vary());
    // Two ranks of a host sent a row of 10 MB each at 1.5 GB/s together. With two hosts at once
    // they sent twice as much, in three times as many seconds.
    const Slowdown& alone = plan.network.slowdown;
    CHECK(alone.of(1).mean() == Approx(0.03 / (20e6 / 1.5e9)).epsilon(0.01));
    CHECK(alone.of(2).mean() == Approx(0.09 / (40e6 / 1.5e9)).epsilon(0.01));
    CHECK(alone.after_change == 1);
    CHECK(plan.slowdowns.size() == 1);
    const Slowdown& own = plan.slowdowns.at(Order::combine_while_adapt);
    CHECK(own.of(1).mean() > 20);
    // The delay is that of one row, while there are two; all of it grows by 0.09 / 2 / 0.03.
    CHECK(own.of(2).mean() == Approx(1.5 * (1 + (own.of(1).mean() - 1) / 2)).epsilon(0.01));
    CHECK(own.after_change > 1.1);
    const auto assumed = [&](const std::string& text) {
        return std::any_of(assumptions.begin(), assumptions.end(), [&](const std::string& each) {
            return each.find(text) != std::string::npos;
        });
    };
    CHECK_FALSE(assumed("at the same time"));  // a host has one other host
    site.host = {0, 0, 1, 1, 2, 2};
    CHECK_FALSE(does_not_vary());
    CHECK_FALSE(assumed("at the same time"));
    site.host = {0, 1, 2, 3};
    CHECK_FALSE(does_not_vary());
    CHECK(assumed("more than 2 hosts at the same time"));
    c.exchanges_with_several.clear();
    CHECK_FALSE(does_not_vary());
    CHECK(assumed("more than 1 host at the same time"));
    site.host = {0, 0, 1, 1};
    c = example();
    site.bandwidth = 1e6;  // other links
    CHECK(does_not_vary());
    CHECK(plan.network.slowdown.of(1).mean() == 1);
    CHECK(plan.slowdowns.empty());
    site.bandwidth.reset();
    c.exchange = {};  // a file of an earlier version
    CHECK(does_not_vary());
    CHECK(to_json(c).at("links").at("exchange").is_null());
    c = example();
    c.exchanges_with_several.clear();
    base::Json earlier = to_json(c);
    earlier["orders"]["combine_while_adapt"].erase("changing_exchange");
    earlier["orders"]["combine_while_adapt"].erase("prolongation");
    earlier["orders"]["combine_while_adapt"]["compute_per_byte"] = 2e-10;
    c = calibration_of(earlier, "earlier.json");
    CHECK(costs_of(c, Order::combine_while_adapt).row_costs.prolongation.of(1e6) == Approx(2e-4));
    CHECK_FALSE(does_not_vary());
    CHECK(plan.slowdowns.at(Order::combine_while_adapt).after_change == 1);
    CHECK(plan.network.slowdown.by_peers.size() == 1);
}

TEST_CASE("The simulated exchanges of a calibration take as long as the measured ones") {
    Calibration c = example();
    c.hosts = {"a", "b", "c", "d"};
    c.uplink = c.remote.bandwidth;
    c.exchange = {10e6, Distribution::of_samples({0.02, 0.03, 0.04})};
    c.exchanges_with_several[2] = {20e6, Distribution::of_samples({0.07, 0.08, 0.3})};
    OrderCosts& costs = c.orders[Order::combine_while_adapt];
    costs.exchange = {10e6, Distribution::of_samples({0.3, 0.4, 0.5})};
    costs.changing = {10e6, Distribution::of_samples({0.3, 0.5, 0.7})};
    OrderCosts& in_turn = c.orders[Order::adapt_then_combine];
    in_turn.exchange = {10e6, Distribution::of_samples({0.6, 0.7, 0.8})};
    Site site;
    site.host = {0, 1, 2, 3};
    Plan plan;
    std::vector<std::string> assumptions;
    apply(c, site, plan, assumptions);
    const auto step = [&](const Work& work, const Slowdown& slowdown, const char* graph,
                          Order order) {
        Network network = plan.network;
        network.slowdown = slowdown;
        const auto schedule = graphs::make_graph(graph, {4, 7});
        return simulate(work, network, plan_rounds(*schedule, {4, 4}, 1000), order, 1000, 3).mean();
    };
    Work work;
    work.compute = Distribution(0.0);
    work.buckets = {{10e6, 1.0}};
    const Slowdown& alone = plan.network.slowdown;
    CHECK(step(work, alone, "one_way_ring", Order::adapt_then_combine) ==
          Approx(0.03).epsilon(0.03));
    CHECK(step(work, alone, "exponential", Order::adapt_then_combine) ==
          Approx(c.exchanges_with_several[2].seconds.mean()).epsilon(0.03));
    const auto work_of = [&](const OrderCosts& order) {
        Work work = plan.work;
        work.row_costs = order.row_costs;
        work.compute = order.compute;
        work.sent_in_compute = order.sent;
        return work;
    };
    const Slowdown& of_turns = plan.slowdowns.at(Order::adapt_then_combine);
    CHECK(step(work_of(in_turn), of_turns, "one_way_ring", Order::adapt_then_combine) ==
          Approx(0.7).epsilon(0.03));
    CHECK(plan.slowdowns.at(Order::all_reduce).of(1).mean() == of_turns.of(1).mean());
    work = work_of(costs);
    const Slowdown& own = plan.slowdowns.at(Order::combine_while_adapt);
    CHECK(step(work, own, "one_way_ring", Order::combine_while_adapt) == Approx(0.4).epsilon(0.03));
    CHECK(step(work, own, "random_matching", Order::combine_while_adapt) ==
          Approx(0.5).epsilon(0.03));
}

TEST_CASE("The fastest graph has a name, or is within noise") {
    Plan plan;
    std::vector<std::string> assumptions;
    Site site;
    for (int r = 0; r < 8; ++r) site.host.push_back(r);
    site.bandwidth = 20e6;
    Calibration c = example();
    c.orders[Order::combine_while_adapt].compute = Distribution::of_samples({0.2, 0.3, 0.5});
    // An exchange alone has no compute step that messages could prolong.
    c.orders[Order::adapt_then_combine].row_costs.prolongation.measured = {{7e6, 0.5}};
    apply(c, site, plan, assumptions);
    plan.placement = {8, 8};
    plan.row_bytes = 10e6;
    plan.iterations = 100;
    plan.simulated = 100;
    const auto candidate = [](const char* name) {
        return Candidate{name, "combine_while_adapt", Order::combine_while_adapt,
                         graphs::make_graph(base::Json(name), {8, 1}), 1};
    };
    const Candidate sum{"all-reduce", "centralized", Order::all_reduce, nullptr, 1};
    const Prediction slow =
        predict::predict(plan, {candidate("one_peer_exponential"), sum}, assumptions);
    CHECK(slow.fastest == "one_peer_exponential");
    CHECK(slow.omega < 0.7);
    CHECK(slow.gamma == Approx(2 * 7 / 8. * 10e6 / 20e6 / example().compute.mean()).epsilon(0.05));
    REQUIRE(slow.forecasts[0].break_even);
    CHECK(slow.forecasts[0].break_even->p50 == Approx(10e6 / 0.3));  // the order's own step
    CHECK(slow.forecasts[0].break_even->p05 < slow.forecasts[0].break_even->p50);
    CHECK(slow.forecasts[0].bytes == Approx(8 * 10e6));
    const Prediction same = predict::predict(
        plan, {candidate("one_peer_exponential"), candidate("alternating_ring")}, assumptions);
    CHECK(same.fastest == "within noise");
    CHECK(same.within_noise.size() == 2);
    // Local steps exchange once in more iterations than are simulated.
    const std::shared_ptr<const graphs::Schedule> ring = graphs::make_graph("ring", {8, 1});
    Candidate local{"ring", "adapt_then_combine", Order::adapt_then_combine, nullptr};
    local.schedule = graphs::periodic_schedule(ring, graphs::no_exchange_schedule(8), 250, 0);
    const Prediction rare = predict::predict(plan, {local}, assumptions);
    CHECK(rare.forecasts[0].bytes == Approx(16 * 10e6 / 250));
    CHECK(rare.forecasts[0].exposed > 0);
    CHECK(rare.assumptions.size() == assumptions.size());
    const base::Json json = to_json(slow);
    for (const char* key : {"assumptions", "graphs", "gamma", "omega", "sigma2", "fastest"}) {
        CHECK(json.contains(key));
    }
    CHECK_THAT(to_text(slow), ContainsSubstring("fastest: one_peer_exponential"));
}
