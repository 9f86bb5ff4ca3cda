#include "predict/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/quantile.hpp"
#include "base/text.hpp"
#include "predict/simulator.hpp"

namespace dbench::predict {

using base::Json;

namespace {

constexpr double kMostEvents = 4e7;  // messages times pieces times iterations of a simulation
constexpr int64_t kFewestIterations = 20;
constexpr int kBlocks = 10;  // of iterations, for the interval of the mean

// Returns as many iterations as a simulation of some seconds allows: whole periods of the schedule,
// if it allows one.
int64_t affordable(const Plan& plan, const Rounds& rounds) {
    const auto pieces =
        static_cast<double>(std::max(plan.work.buckets.size(), plan.work.tiles.size()));
    const double each = rounds.mean_events() * pieces;
    const auto most =
        std::max(kFewestIterations, static_cast<int64_t>(kMostEvents / std::max(1.0, each)));
    const int64_t count = std::min(most, std::max(kFewestIterations, plan.simulated));
    const auto period = static_cast<int64_t>(rounds.plan_of.size());
    if (!rounds.whole || period > most) return count;
    return std::max(period, count / period * period);
}

// Returns the ends of blocks of iterations. If there are enough whole periods, all blocks have the
// same number of them; few periods say too little about how much means vary.
std::vector<int64_t> ends_of_blocks(int64_t iterations, const Rounds& rounds) {
    const auto period = static_cast<int64_t>(rounds.plan_of.size());
    constexpr int64_t kFewestPeriods = 5;
    const bool divides =
        rounds.whole && iterations % period == 0 && iterations / period >= kFewestPeriods;
    const int64_t unit = divides ? period : 1, count = iterations / unit;
    const int64_t blocks = std::min<int64_t>(kBlocks, count);
    std::vector<int64_t> ends;
    for (int64_t b = 1; b <= blocks; ++b) ends.push_back(b * count / blocks * unit);
    return ends;
}

// Returns the work of an order.
Work work_in(const Plan& plan, Order order) {
    Work work = plan.work;
    if (const auto own = plan.orders.find(order); own != plan.orders.end()) {
        work.row_costs = own->second.row_costs;
        work.compute = own->second.compute;
        work.sent_in_compute = own->second.sent;
    }
    return work;
}

// Returns the seconds of an exchange alone: nothing is computed, all ranks start together.
double exchange_alone(const Plan& plan, const Rounds& rounds, double rows) {
    Work work = plan.work;
    work.compute = Distribution(0);
    work.row_costs.update = 0;
    work.row_costs.prolongation = {};
    work.delay = nullptr;
    work.wire *= rows;
    work.tiles.clear();
    for (const Bucket& bucket : work.buckets) work.tiles.push_back(bucket.bytes);
    Network network = plan.network;
    network.slowdown = network.slowdown.means();
    const auto period = static_cast<int64_t>(rounds.plan_of.size());
    const int64_t count =
        std::min(std::max<int64_t>(1, 4 / period) * period, affordable(plan, rounds));
    return simulate(work, network, rounds, Order::combine_then_adapt, count, plan.seed).mean();
}

// Returns the bytes that the busiest host sends in an iteration on average.
double bytes_of_busiest_host(const Plan& plan, const Rounds& rounds, double rows) {
    double sum = 0;
    std::vector<double> per_plan;
    const std::vector<int>& host = plan.network.host;
    const SumFacts sums = plan.work.sums(plan.network);
    for (const RoundPlan& round : rounds.plans) {
        std::vector<double> sent(static_cast<size_t>(plan.network.hosts()));
        for (size_t r = 0; r < round.out.size(); ++r) {
            for (const auto& [to, count] : round.out[r]) {
                if (host[static_cast<size_t>(to)] != host[r])
                    sent[static_cast<size_t>(host[r])] += count;
            }
        }
        for (const auto& group : round.groups) {
            const AllReduce reduced(group, sums);
            for (const auto& [h, members] : reduced.members()) {
                sent[static_cast<size_t>(h)] += reduced.rows_of_host(h);
            }
        }
        per_plan.push_back(*std::max_element(sent.begin(), sent.end()));
    }
    for (const size_t index : rounds.plan_of) sum += per_plan[index];
    return sum / static_cast<double>(rounds.plan_of.size()) * rows * plan.row_bytes;
}

// `work` is that of the candidate's order.
std::optional<BreakEven> break_even(const Plan& plan, const Rounds& rounds,
                                    const Candidate& candidate, const Work& work) {
    const double bytes = bytes_of_busiest_host(plan, rounds, candidate.rows);
    if (bytes == 0) return std::nullopt;
    // The part of the compute step that can hide messages.
    double share = 1;
    if (candidate.simulated == Order::adapt_then_combine ||
        candidate.simulated == Order::all_reduce) {
        share = 1 - work.buckets.front().ready;
    } else if (candidate.simulated == Order::combine_then_adapt) {
        share = 0;
    }
    if (share <= 0) return std::nullopt;
    const auto at = [&](double u) { return bytes / (share * work.compute.at(u)); };
    return BreakEven{at(0.95), at(0.5), at(0.05)};
}

// Says that the simulated iterations are no whole period of the schedule, if this is so.
void note_long_period(const Candidate& candidate, int64_t iterations,
                      std::vector<std::string>& assumptions) {
    const int64_t period = candidate.schedule ? candidate.schedule->period() : 1;
    if (period == 0 || iterations % period == 0) return;
    const std::string note = "The exchanges of " + candidate.name + " repeat after " +
                             std::to_string(period) + " iterations: the first " +
                             std::to_string(iterations) + " stand for all.";
    if (std::find(assumptions.begin(), assumptions.end(), note) == assumptions.end())
        assumptions.push_back(note);
}

Forecast forecast(const Plan& plan, const Candidate& candidate,
                  std::vector<std::string>& assumptions) {
    Forecast f;
    f.candidate = candidate;
    const Rounds rounds = candidate.schedule ? plan_rounds(*candidate.schedule, plan.placement,
                                                           plan.simulated, candidate.groups)
                                             : plan_all_reduce(plan.placement);
    Work work = work_in(plan, candidate.simulated);
    work.wire *= candidate.rows;
    work.links_used = std::min(1.0, candidate.rows);
    Network network = plan.network;
    if (const auto own = plan.slowdowns.find(candidate.simulated); own != plan.slowdowns.end()) {
        network.slowdown = own->second;
    }
    const int64_t iterations = affordable(plan, rounds);
    note_long_period(candidate, iterations, assumptions);
    const Outcome outcome =
        simulate(work, network, rounds, candidate.simulated, iterations, plan.seed);
    std::vector<double> steps = outcome.step;
    std::sort(steps.begin(), steps.end());
    f.p05 = base::quantile(steps, 0.05);
    f.p50 = base::quantile(steps, 0.5);
    f.p95 = base::quantile(steps, 0.95);
    f.mean = outcome.mean();
    f.exposed = std::max(0.0, outcome.exposed);
    std::vector<double> blocks;
    for (int64_t begin = 0; const int64_t end : ends_of_blocks(iterations, rounds)) {
        blocks.push_back(outcome.mean(begin, end));
        begin = end;
    }
    std::sort(blocks.begin(), blocks.end());
    // The mean of all blocks varies less than one block by the square root of their number.
    const double half = (base::quantile(blocks, 0.95) - base::quantile(blocks, 0.05)) / 2 /
                        std::sqrt(static_cast<double>(blocks.size()));
    f.least = (f.mean - half) * (1 - kModelError / 2);
    f.most = (f.mean + half) * (1 + kModelError / 2);
    f.bytes = rounds.mean_rows_sent() * candidate.rows * plan.row_bytes;
    f.exchange = exchange_alone(plan, rounds, candidate.rows);
    f.break_even = break_even(plan, rounds, candidate, work);
    return f;
}

std::string label(const Candidate& candidate) {
    return candidate.name + " (" + candidate.order + ")";
}

// Finds the fastest graph, and those whose intervals overlap its own.
void rank(Prediction& prediction) {
    std::vector<const Forecast*> sorted;
    for (const Forecast& each : prediction.forecasts) sorted.push_back(&each);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Forecast* a, const Forecast* b) { return a->mean < b->mean; });
    const Forecast& first = *sorted.front();
    prediction.fastest = first.candidate.name;
    for (const Forecast* each : sorted) {
        if (each->least > first.most) continue;
        prediction.within_noise.push_back(label(each->candidate));
        if (each->candidate.name != first.candidate.name) prediction.fastest = "within noise";
    }
}

std::string seconds_text(double seconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%.4g", 1e3 * seconds);
    return text;
}

std::string text_of(const char* format, double value) {
    char text[60];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

}  // namespace

Prediction predict(const Plan& plan, const std::vector<Candidate>& candidates,
                   std::vector<std::string> assumptions) {
    Prediction prediction;
    prediction.ranks = plan.placement.ranks;
    prediction.hosts = plan.network.hosts();
    prediction.iterations = plan.iterations;
    prediction.gpus = plan.gpus;
    prediction.assumptions = std::move(assumptions);
    for (const Candidate& candidate : candidates) {
        prediction.forecasts.push_back(forecast(plan, candidate, prediction.assumptions));
    }
    prediction.compute = plan.work.compute.mean();
    prediction.sigma2 = plan.work.compute.variance();
    const double all_reduce = exchange_alone(plan, plan_all_reduce(plan.placement), 1);
    if (prediction.compute > 0) prediction.gamma = all_reduce / prediction.compute;
    if (all_reduce > 0) prediction.omega = prediction.forecasts.front().exchange / all_reduce;
    rank(prediction);
    return prediction;
}

Json to_json(const Prediction& p) {
    Json graphs = Json::array();
    for (const Forecast& f : p.forecasts) {
        const auto total = [&](double mean) { return mean * static_cast<double>(p.iterations); };
        Json duration = {{"p05", total(f.least)}, {"p50", total(f.mean)}, {"p95", total(f.most)}};
        const double hours = total(f.mean) * p.ranks / 3600;
        Json even = nullptr;
        if (f.break_even) {
            even = {
                {"p05", f.break_even->p05}, {"p50", f.break_even->p50}, {"p95", f.break_even->p95}};
        }
        graphs.push_back({{"name", f.candidate.name},
                          {"order", f.candidate.order},
                          {"step_time", {{"p05", f.p05}, {"p50", f.p50}, {"p95", f.p95}}},
                          {"step_time_mean", f.mean},
                          {"exchange_exposed", f.exposed},
                          {"bytes", f.bytes},
                          {"break_even_bandwidth", even},
                          {"duration", duration},
                          {"gpu_hours", p.gpus ? Json(hours) : Json(nullptr)},
                          {"rank_hours", hours}});
    }
    return {{"assumptions", p.assumptions},
            {"graphs", graphs},
            {"gamma", p.gamma},
            {"omega", p.omega},
            {"sigma2", p.sigma2},
            {"fastest", p.fastest},
            {"within_noise", p.within_noise},
            {"compute", p.compute},
            {"ranks", p.ranks},
            {"hosts", p.hosts},
            {"iterations", p.iterations}};
}

std::string to_text(const Prediction& p) {
    std::vector<std::vector<std::string>> rows{{"graph", "order", "step ms: 5 %", "50 %", "95 %",
                                                "exposed ms", "sent", "break-even MB/s",
                                                "whole run h"}};
    for (const Forecast& f : p.forecasts) {
        std::string even = "-";
        if (f.break_even) {
            even = text_of("%.3g", f.break_even->p50 / 1e6) + " (" +
                   text_of("%.3g", f.break_even->p05 / 1e6) + " to " +
                   text_of("%.3g", f.break_even->p95 / 1e6) + ")";
        }
        rows.push_back({f.candidate.name, f.candidate.order, seconds_text(f.p05),
                        seconds_text(f.p50), seconds_text(f.p95), seconds_text(f.exposed),
                        base::bytes_text(f.bytes), even,
                        text_of("%.3g", f.mean * static_cast<double>(p.iterations) / 3600)});
    }
    std::string text = std::to_string(p.ranks) + " ranks on " + std::to_string(p.hosts) +
                       (p.hosts == 1 ? " host, " : " hosts, ") + std::to_string(p.iterations) +
                       " iterations\n\n" + base::aligned(rows);
    text += "\nfastest: " + p.fastest;
    if (p.within_noise.size() > 1) {
        text += ", between which the prediction cannot decide:";
        for (size_t k = 0; k < p.within_noise.size(); ++k) {
            text += (k ? ", " : " ") + p.within_noise[k];
        }
    }
    text += "\ngamma " + text_of("%.3g", p.gamma) + " (all-reduce over computation), omega " +
            text_of("%.3g", p.omega) + " (exchange of " + p.forecasts.front().candidate.name +
            " over all-reduce), sigma^2 " + text_of("%.3g", p.sigma2) +
            " s^2 (variance of the compute step, whose mean is " + seconds_text(p.compute) +
            " ms)\n\nassumptions\n";
    for (const std::string& each : p.assumptions) text += "* " + each + "\n";
    return text;
}

}  // namespace dbench::predict
