#include "program/forecast_run.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "algorithms/algorithm.hpp"
#include "algorithms/step/delays.hpp"
#include "algorithms/step/stepper.hpp"
#include "arena/messages/element_codec.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "graphs/schedules/staged.hpp"
#include "predict/rounds.hpp"
#include "program/parse_member.hpp"

namespace dbench::program {

using base::Json;
using predict::Candidate;
using predict::Groups;
using predict::Order;

namespace {

constexpr const char* kAllReduce = "all-reduce";
constexpr const char* kUsual[] = {"ring", "alternating_ring", "one_peer_exponential", "complete",
                                  kAllReduce};

// How the run's algorithm exchanges.
struct Exchange {
    Order order;
    std::string name;    // of the order, as in a spec
    bool plain = false;  // dsgd: the order can be chosen freely
};

Exchange exchange_of(const Json& algorithm, bool asynchronous,
                     std::vector<std::string>& assumptions) {
    const auto type = algorithm.at("type").get<std::string>();
    if (type == "centralized") return {Order::all_reduce, "centralized"};
    if (asynchronous) {
        assumptions.push_back("Replicas of " + type +
                              " never wait for each other, and the messages of an iteration are "
                              "those of its graph.");
        return {Order::asynchronous, "asynchronous"};
    }
    const std::string order = algorithm.value("order", "adapt_then_combine");
    if (type == "dsgd") {
        if (order == "combine_while_adapt") return {Order::combine_while_adapt, order, true};
        if (order == "combine_then_adapt") return {Order::combine_then_adapt, order, true};
        return {Order::adapt_then_combine, order, true};
    }
    assumptions.push_back(
        "The exchange of " + type +
        " takes place when that of dsgd in the order adapt_then_combine does, and "
        "its own arithmetic costs what the calibrated update costs.");
    return {Order::adapt_then_combine, order};
}

// The spec of a graph as the command line writes it, with the GPUs of a node if it has this key.
Json graph_spec(const std::string& words, int gpus_per_node) {
    Json spec = parse_member(words, "graphs");
    if (gpus_per_node > 1) add_gpus_per_node(spec, gpus_per_node);
    return spec;
}

// Returns a resolved graph as the command line writes it: TYPE, and :KEY=VALUE for each key that
// differs from the graph's defaults. A graph inside it is named by its type, if that says all.
std::string words_of(const Json& graph) {
    const auto type = graph.at("type").get<std::string>();
    Json plain = Json::object();
    try {
        plain = graphs::resolve_graph(type);
    } catch (const base::UserError&) {  // The graph has keys without defaults.
    }
    std::string words = type;
    for (const auto& item : graph.items()) {
        const Json& value = item.value();
        if (item.key() == "type" || plain.value(item.key(), Json()) == value) continue;
        std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        if (value.is_object() && value.contains("type")) {
            const std::string inside = words_of(value);
            if (inside.find(':') == inside.npos) text = inside;
        }
        words += ":" + item.key() + "=" + text;
    }
    return words;
}

int ranks_of_first_host(const std::vector<int>& host) {
    return static_cast<int>(std::count(host.begin(), host.end(), host.front()));
}

// Makes the candidates of a run. Holds what all of them share.
class Candidates {
public:
    Candidates(const PreparedRun& run, const ForecastRequest& request,
               std::vector<std::string>& assumptions)
        : run_(run),
          request_(request),
          exchange_(exchange_of(run.spec.algorithm, run.session->asynchronous(), assumptions)) {}

    std::vector<Candidate> make(std::vector<std::string>& assumptions) {
        add_own();
        for (const std::string& words : request_.graphs) add(words);
        if (request_.usual_graphs) add_usual(assumptions);
        return std::move(all_);
    }

private:
    // Rows that an algorithm sends to each neighbour of a graph, or in each all-reduce.
    struct Sending {
        double rows = 1;
        Groups groups = Groups::all_reduce;
    };

    // `algorithm` is resolved, and `schedule` is that of its exchanges.
    Sending sending_of(const Json& algorithm, const graphs::Schedule& schedule) const {
        constexpr int64_t kFewest = 64;  // iterations; asynchronous replicas draw their neighbours
        const auto plan = [&](Groups groups) {
            return predict::plan_rounds(schedule, request_.placement, request_.simulated, groups);
        };
        Sending found;
        predict::Rounds rounds = plan(found.groups);
        auto count = static_cast<int64_t>(rounds.plan_of.size());
        if (rounds.whole) count *= (kFewest + count - 1) / count;
        const train::Session::Sending sent = run_.session->sending(algorithm, schedule, count);
        if (sent.over_links) {
            found.groups = Groups::links;
            rounds = plan(found.groups);
        }
        const double plain = rounds.mean_rows_sent() * run_.session->row_bytes();
        if (plain > 0 && sent.bytes > 0) found.rows = sent.bytes / plain;
        return found;
    }

    bool has(const std::string& name) const {
        return std::any_of(all_.begin(), all_.end(),
                           [&](const Candidate& each) { return each.name == name; });
    }

    void add_all_reduce() {
        all_.push_back({kAllReduce, "centralized", Order::all_reduce, nullptr});
    }

    void add_orders(const std::string& name, std::shared_ptr<const graphs::Schedule> schedule,
                    const Sending& sending, bool both) {
        const bool own = exchange_.order != Order::all_reduce;
        const auto add_order = [&](const std::string& words, Order order) {
            all_.push_back({name, words, order, schedule, sending.rows, sending.groups});
        };
        if (own) add_order(exchange_.name, exchange_.order);
        if (own && !(exchange_.plain && both)) return;
        for (const auto& [order, words] :
             {std::pair{Order::adapt_then_combine, "adapt_then_combine"},
              std::pair{Order::combine_while_adapt, "combine_while_adapt"}}) {
            if (own && order == exchange_.order) continue;
            add_order(words, order);
        }
    }

    void add_own() {
        if (exchange_.order == Order::all_reduce) return add_all_reduce();
        // The session owns the schedule and lives longer than the candidates.
        const std::shared_ptr<const graphs::Schedule> schedule(std::shared_ptr<void>(),
                                                               run_.session->schedule());
        own_ = sending_of(run_.spec.algorithm, *schedule);
        add_orders(own_name(), schedule, own_, request_.both_orders);
    }

    // The run's graph is named by its type, or with its keys if the graph of this type with default
    // keys is another candidate.
    std::string own_name() const {
        const Json& graph = run_.spec.graph;
        if (graph.is_array()) return "list of graphs";
        const auto type = graph.at("type").get<std::string>();
        const auto is_type = [&](const std::string& words) { return words == type; };
        const bool other = std::ranges::any_of(request_.graphs, is_type) ||
                           (request_.usual_graphs && std::ranges::any_of(kUsual, is_type));
        return other ? words_of(graph) : type;
    }

    void add(const std::string& words) {
        if (has(words)) return;
        if (words == kAllReduce) return add_all_reduce();
        const base::RunLength length = run_.session->plan();
        graphs::RunFacts facts{length};
        facts.row_bytes = run_.session->row_bytes();
        const graphs::GraphContext context{static_cast<int>(request_.placement.replicas),
                                           run_.spec.run.seed.graph, facts};
        std::shared_ptr<graphs::Schedule> graph = graphs::make_graph(
            graph_spec(words, ranks_of_first_host(request_.site.host)), context, "--graphs");
        // An algorithm with local steps, for example, exchanges in few iterations only.
        const bool own = exchange_.order != Order::all_reduce;
        std::shared_ptr<const graphs::Schedule> schedule = graph;
        if (own) {
            schedule = algorithms::RunSchedule(graph, algorithms::entry_of(run_.spec.algorithm),
                                               run_.spec.algorithm, facts)
                           .exchanges;
        }
        Sending sending = own_;
        try {
            sending = sending_of(own ? run_.spec.algorithm : algorithms::resolve_algorithm("dsgd"),
                                 *schedule);
        } catch (const base::UserError&) {
            // The algorithm cannot use this graph: it is simulated as if it sent the same.
        }
        add_orders(words, schedule, sending, true);
    }

    void add_usual(std::vector<std::string>& assumptions) {
        for (const char* name : kUsual) {
            try {
                add(name);
            } catch (const base::UserError&) {
                assumptions.push_back(std::string(name) + " is left out: it does not exist for " +
                                      std::to_string(request_.placement.replicas) + " replicas.");
            }
        }
    }

    const PreparedRun& run_;
    const ForecastRequest& request_;
    const Exchange exchange_;
    Sending own_;  // of the run's graph
    std::vector<Candidate> all_;
};

std::string text_of(const std::vector<predict::Difference>& found) {
    std::string text;
    for (const auto& each : found) {
        text += (text.empty() ? "" : "; ") + each.name + " (" + each.text + ")";
    }
    return text;
}

}  // namespace

predict::Prediction forecast_run(const PreparedRun& run, predict::Calibration calibration,
                                 const train::Estimates& estimates, const ForecastRequest& request,
                                 std::vector<std::string> assumptions) {
    const train::Session& session = *run.session;
    // Gradients are clipped after backward, and leave only then.
    if (!run.spec.resolved.at("optimizer").value("clip_norm", Json()).is_null()) {
        for (predict::Bucket& bucket : calibration.buckets) bucket.ready = 1;
    }
    predict::Plan plan;
    plan.placement = request.placement;
    plan.row_bytes = session.row_bytes();
    plan.iterations = estimates.iterations;
    plan.seed = run.spec.run.seed.graph;
    plan.simulated = request.simulated;
    apply(calibration, request.site, plan, assumptions);
    plan.work.wire = session.row_bytes() /
                     static_cast<double>(session.layout().numel() * arena::size_of(session.type()));
    plan.work.library_sum = session.reduction() == "library";
    const algorithms::Delays delays(run.spec.run.delays, request.placement.replicas,
                                    run.spec.run.seed.delay);
    if (delays.any()) {
        plan.work.delay = [&](int rank, int64_t t) {
            return delays.seconds(request.placement.begin(rank), request.placement.count(rank), t);
        };
    }
    // A rank with fewer replicas computes less.
    if (request.placement.replicas % request.placement.ranks != 0) {
        for (int rank = 0; rank < request.placement.ranks; ++rank) {
            plan.work.shares.push_back(static_cast<double>(request.placement.count(rank)) /
                                       request.site.replicas_per_rank);
        }
    }
    if (plan.work.wire != 1) {
        assumptions.emplace_back(
            "Rows are encoded for messages of 16 bits, and decoded, in no time: the calibration "
            "sent them whole.");
    }
    if (session.staged()) {
        assumptions.push_back("The graph changes during the run: its first " +
                              std::to_string(request.simulated) +
                              " iterations, without decisions of a controller, stand for all.");
    }
    Candidates candidates(run, request, assumptions);
    const auto all = candidates.make(assumptions);
    return predict::predict(plan, all, std::move(assumptions));
}

predict::Calibration read_calibration(const std::string& path, const predict::Subject& now,
                                      bool accept, std::vector<std::string>& assumptions) {
    const predict::Calibration calibration = predict::calibration_of(base::read_json(path), path);
    const auto found = predict::differences(calibration.subject, now);
    if (found.empty()) return calibration;
    const std::string what =
        "--calibration: " + path + " was not measured with this run: " + text_of(found);
    const bool permitted = std::all_of(found.begin(), found.end(),
                                       [](const auto& difference) { return difference.permitted; });
    if (!accept && !permitted) {
        throw base::UserError(what +
                              ": measure again with dbench calibrate, or accept the differences "
                              "with --accept-differences");
    }
    base::warn(what);
    assumptions.push_back("The calibration also holds for this run, which differs in " +
                          text_of(found) + ".");
    return calibration;
}

std::vector<int> number_hosts(const std::vector<std::string>& hosts) {
    std::map<std::string, int> numbers;
    std::vector<int> found;
    for (const std::string& host : hosts) {
        found.push_back(numbers.emplace(host, static_cast<int>(numbers.size())).first->second);
    }
    return found;
}

}  // namespace dbench::program
