// dbench graph: prints a graph, or its certificate with traffic between nodes, costs of links and
// the growth of an algorithm.
#include <charconv>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graphs/link_cost.hpp"
#include "graphs/placement.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/round_text.hpp"
#include "graphs/schedules/staged.hpp"
#include "program/commands.hpp"
#include "program/parse_member.hpp"
#include "program/stability.hpp"

namespace dbench::program {

using base::Json;
using base::UserError;

namespace {

// Returns the spec's entry of a graph that is given as JSON, as a spec has it.
Json parse_graph_json(const std::string& text) {
    Json spec = base::parse_json(text, "graph");
    if (!spec.contains("type") || !spec["type"].is_string()) {
        throw UserError("graph: " + text +
                        " has no \"type\" (write {\"type\": \"ring\"}, for example)");
    }
    return spec;
}

Json spec_of(const GraphArguments& a) {
    Json spec = a.type.starts_with('{') ? parse_graph_json(a.type) : parse_member(a.type, "graphs");
    const auto type = spec["type"].get<std::string>();
    for (const auto& [key, text] : a.parameters) {
        spec[key] = parse_member_key("graphs", type, key, text);
    }
    add_gpus_per_node(spec, a.gpus_per_node);
    return spec;
}

Json compared_spec(const std::string& words, int gpus_per_node) {
    if (words.starts_with('{')) {
        throw UserError(
            "graph: --compare takes TYPE or TYPE:KEY=VALUE:..., not JSON, because its commas "
            "separate "
            "graphs");
    }
    Json spec = parse_member(words, "graphs");
    add_gpus_per_node(spec, gpus_per_node);
    return spec;
}

struct GraphReport {
    std::string name;
    std::unique_ptr<graphs::Schedule> schedule;
    graphs::Certificate certificate;
    std::string growth;  // of --algorithm, a line of text; empty without --algorithm
    Json json;           // the certificate and all numbers that the options request
};

// Traffic between nodes with the requested placement, and with the best one that was found.
struct NodeTraffic {
    graphs::Traffic placed, best;
    graphs::Slots slots;
};

NodeTraffic node_traffic(const graphs::Schedule& schedule, const GraphArguments& a,
                         const graphs::Slots& placed) {
    const auto best = graphs::optimised_placement(schedule, a.gpus_per_node, a.seed);
    return {graphs::traffic(schedule, a.gpus_per_node, placed),
            graphs::traffic(schedule, a.gpus_per_node, best), best};
}

// Returns the links between the slots of the replicas, with one replica per slot.
graphs::Links slot_links(const GraphArguments& a) {
    if (a.model_bytes <= 0) {
        throw UserError("graph: --links needs --model-bytes (seconds depend on how much is sent)");
    }
    const graphs::LinkTable table = graphs::read_links(a.links);
    std::vector<std::string> hosts(static_cast<size_t>(a.n));
    if (!table.hosts().empty()) {
        const size_t gpus = static_cast<size_t>(a.gpus_per_node), known = table.hosts().size();
        if (gpus == 0 || hosts.size() > known * gpus) {
            throw UserError("graph: " + a.links + " has links between " + std::to_string(known) +
                            " hosts, not slots: give --gpus-per-node, " +
                            std::to_string((hosts.size() + known - 1) / known) + " or more for " +
                            std::to_string(a.n) + " replicas");
        }
        for (size_t slot = 0; slot < hosts.size(); ++slot) hosts[slot] = table.hosts()[slot / gpus];
    }
    return table.between(hosts);
}

// Returns the requested placement; "optimised" uses the links if a file of links is given.
graphs::Slots placement_of(const graphs::Schedule& schedule, const GraphArguments& a,
                           const graphs::Slots& best_by_links) {
    if (!a.links.empty() && a.placement == "optimised") return best_by_links;
    if (a.placement == "node_major" && a.gpus_per_node == 0) {
        throw UserError("graph: --placement node_major needs --gpus-per-node");
    }
    return graphs::placement_named(a.placement, schedule, a.gpus_per_node, a.seed);
}

Json traffic_json(const graphs::Traffic& traffic, double model_bytes) {
    Json out{{"share", traffic.share}, {"worst_node_models", traffic.worst_node}};
    if (model_bytes > 0) out["worst_node_bytes"] = traffic.worst_node * model_bytes;
    return out;
}

GraphReport report_on(const std::string& name, const Json& spec, const GraphArguments& a) {
    GraphReport l;
    l.name = name;
    l.schedule = graphs::make_graph(spec, {a.n, a.seed}, "graph");
    l.certificate = graphs::certify(*l.schedule, spec.at("type"), a.gamma);
    l.json = graphs::to_json(l.certificate);
    if (!a.algorithm.empty()) {
        const Json algorithm =
            algorithms::resolve_algorithm(parse_member(a.algorithm, "algorithms"), "--algorithm");
        const auto growth = growth_on(algorithm, *l.schedule);
        l.json.update(stability_json(algorithm, growth));
        l.growth = stability_text(algorithm, growth);
    }
    if (a.model_bytes > 0) l.json["bytes_sent"] = l.certificate.models_sent * a.model_bytes;
    graphs::Slots cheapest;
    if (!a.links.empty()) {
        const graphs::Links links = slot_links(a);
        const auto traffic = graphs::rank_traffic(*l.schedule, graphs::linear_placement(a.n));
        const auto seconds = [&](const graphs::Slots& slots) {
            return graphs::link_cost(traffic, links, a.model_bytes, slots);
        };
        cheapest = graphs::cheapest_placement(traffic, links, a.model_bytes, a.seed);
        l.json["links"] = {{"placement", a.placement},
                           {"seconds", seconds(placement_of(*l.schedule, a, cheapest))},
                           {"linear_seconds", seconds(graphs::linear_placement(a.n))},
                           {"best", {{"seconds", seconds(cheapest)}, {"slots", cheapest}}}};
    }
    if (a.gpus_per_node > 0) {
        const NodeTraffic between =
            node_traffic(*l.schedule, a, placement_of(*l.schedule, a, cheapest));
        l.json["traffic"] = traffic_json(between.placed, a.model_bytes);
        l.json["traffic"]["gpus_per_node"] = a.gpus_per_node;
        l.json["traffic"]["placement"] = a.placement;
        l.json["traffic"]["best"] = traffic_json(between.best, a.model_bytes);
        l.json["traffic"]["best"]["slots"] = between.slots;
    }
    if (const graphs::StagedSchedule* staged = std::as_const(*l.schedule).staged()) {
        l.json["stages"] = Json::array();
        for (const auto& stage : staged->stages()) {
            l.json["stages"].push_back(
                {{"first", stage.first}, {"graph", staged->name(stage.graph)}});
        }
    }
    return l;
}

std::string number(const Json& value, const char* format = "%.6g") {
    if (value.is_null()) return "-";
    char text[32];
    std::snprintf(text, sizeof text, format, value.get<double>());
    return text;
}

std::string traffic_text(const Json& traffic) {
    const std::string worst = traffic.contains("worst_node_bytes")
                                  ? number(traffic["worst_node_bytes"]) + " bytes"
                                  : number(traffic["worst_node_models"]) + " models";
    return number(100 * traffic["share"].get<double>(), "%.1f") +
           " % crosses nodes; the busiest node sends " + worst + " in its worst round";
}

void print_graph_report(const GraphReport& l) {
    std::cout << graphs::to_text(l.certificate) << l.growth;
    const auto line = [](const std::string& name, const std::string& value) {
        std::cout << base::column(name, 26) << value << "\n";
    };
    if (l.json.contains("bytes_sent")) {
        line("bytes sent", number(l.json["bytes_sent"]) + " per replica and iteration");
    }
    if (l.json.contains("traffic")) {
        const Json& traffic = l.json["traffic"];
        line("placement " + traffic["placement"].get<std::string>(), traffic_text(traffic));
        line("best placement found", traffic_text(traffic["best"]));
    }
    if (l.json.contains("links")) {
        const Json& links = l.json["links"];
        const auto seconds = [&](const Json& value) {
            return "messages need " + number(value, "%.4g") + " s per iteration";
        };
        const auto placement = links["placement"].get<std::string>();
        if (placement != "linear") line("links, " + placement, seconds(links["seconds"]));
        line("links, linear", seconds(links["linear_seconds"]));
        line("links, best found", seconds(links["best"]["seconds"]));
    }
    if (l.json.contains("stages")) {
        std::cout << "graphs over the run, if an epoch is one iteration\n";
        for (const Json& stage : l.json["stages"]) {
            std::cout << "  from " << stage["first"] << ": " << stage["graph"].get<std::string>()
                      << "\n";
        }
    }
}

// Prints one row per graph, with "-" for a number that does not exist.
void print_table(const std::vector<GraphReport>& all, const GraphArguments& a) {
    std::vector<std::vector<std::string>> rows = {{"graph", "degree", "rho", "gap", "period",
                                                   "exact after", "rate", "to 1e-3", "n_W",
                                                   "disagreement", "messages", "models"}};
    if (!a.algorithm.empty()) rows[0].push_back("growth");
    if (a.gpus_per_node > 0) {
        for (const char* name : {"crossing", "worst node", "best crossing", "best worst"}) {
            rows[0].push_back(name);
        }
    }
    if (!a.links.empty()) {
        for (const char* name : {"link s", "linear s", "best s"}) rows[0].push_back(name);
    }
    for (const GraphReport& l : all) {
        const Json& c = l.json;
        rows.push_back({l.name, number(c["degree"]["mean"]),
                        number(c["rho"].is_null() ? c["rho_expected"] : c["rho"]),
                        number(c["gap"], "%.3g"), number(c["period"]), number(c["finite_time"]),
                        number(c["rate"]), number(c["iterations_to_1e3"], "%.9g"),
                        number(c["effective_neighbours"]["value"], "%.4g"),
                        number(c["disagreement"]["momentum"], "%.4g"),
                        number(c["messages"], "%.4g"), number(c["models_sent"], "%.4g")});
        if (!a.algorithm.empty()) rows.back().push_back(number(c["growth"]));
        if (c.contains("traffic")) {
            for (const Json& traffic : {c["traffic"], c["traffic"]["best"]}) {
                rows.back().push_back(number(100 * traffic["share"].get<double>(), "%.1f") + " %");
                rows.back().push_back(number(traffic["worst_node_models"]));
            }
        }
        if (!c.contains("links")) continue;
        for (const Json& seconds :
             {c["links"]["seconds"], c["links"]["linear_seconds"], c["links"]["best"]["seconds"]}) {
            rows.back().push_back(number(seconds, "%.4g"));
        }
    }
    std::cout
        << base::aligned(rows)
        << "messages and models (bytes sent, divided by the model's bytes) are per replica and "
           "iteration; n_W: effective neighbours at gamma = "
        << a.gamma << "; disagreement: what noise leaves with momentum " << graphs::kMomentum
        << "\n";
}

// Parses "A:B", the rounds from A to B - 1. Throws UserError.
std::pair<int64_t, int64_t> rounds_of(const std::string& text) {
    int64_t first = -1, end = -1;
    const char *at = text.data(), *last = at + text.size();
    const auto a = std::from_chars(at, last, first);
    if (a.ec == std::errc() && a.ptr != last && *a.ptr == ':') {
        const auto b = std::from_chars(a.ptr + 1, last, end);
        if (b.ec == std::errc() && b.ptr == last && 0 <= first && first < end) return {first, end};
    }
    throw UserError("graph: --rounds " + text +
                    " is not A:B with 0 <= A < B (rounds A to B - 1, such as 0:8)");
}

void print_round(const graphs::Schedule& schedule, int64_t t, const std::string& type,
                 const GraphArguments& a) {
    const graphs::Round round = schedule.at(t);
    if (a.matrix) graphs::print_matrix(std::cout, schedule, round);
    if (a.edges) graphs::print_edges(std::cout, schedule, round);
    if (a.dot) graphs::print_dot(std::cout, schedule, round, type);
}

}  // namespace

int command_graph(const GraphArguments& a) {
    graphs::check_placement_name(a.placement);
    if (!a.compare.empty()) {
        if (!a.parameters.empty()) {
            throw UserError("graph: --" + a.parameters[0].first +
                            " cannot be used with --compare (it does not say which graph it "
                            "belongs to): write TYPE:KEY=VALUE in --compare");
        }
        std::vector<GraphReport> all;
        for (const std::string& word : a.compare) {
            all.push_back(report_on(word, compared_spec(word, a.gpus_per_node), a));
        }
        if (!a.json) {
            print_table(all, a);
            return 0;
        }
        Json list = Json::array();
        for (const GraphReport& l : all) list.push_back(l.json);
        std::cout << list.dump(2) << "\n";
        return 0;
    }
    const Json spec = spec_of(a);
    const auto type = spec["type"].get<std::string>();
    const bool printed = a.matrix || a.edges || a.dot;
    if (printed && a.gpus_per_node > 0 &&
        !graphs::resolve_graph(spec, "graph").contains("gpus_per_node")) {
        throw UserError(
            "graph: --gpus-per-node has no effect here: it applies to the certificate "
            "and to graphs of nodes, such as aer, and not to the edges of " +
            type + ": leave it out");
    }
    if (!a.rounds.empty()) {
        const auto [first, end] = rounds_of(a.rounds);
        if (!a.matrix && !a.edges) throw UserError("graph: --rounds needs --matrix or --edges");
        const auto schedule = graphs::make_graph(spec, {a.n, a.seed}, "graph");
        for (int64_t t = first; t < end; ++t) {
            std::cout << "# round " << t << "\n";
            print_round(*schedule, t, type, a);
        }
        return 0;
    }
    if (printed) {
        print_round(*graphs::make_graph(spec, {a.n, a.seed}, "graph"), a.round, type, a);
        return 0;
    }
    const GraphReport l = report_on(type, spec, a);
    if (a.json) {
        std::cout << l.json.dump(2) << "\n";
    } else {
        print_graph_report(l);
    }
    return 0;
}

}  // namespace dbench::program
