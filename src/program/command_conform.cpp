// dbench conform: prints the reports of the conformance checks (conform/conform.hpp).
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "conform/conform.hpp"
#include "graphs/number_text.hpp"
#include "program/commands.hpp"
#include "program/parse_member.hpp"

namespace dbench::program {
namespace {

using base::Json;

Json command_conform_to_json(const conform::Report& report) {
    Json out{{"subject", report.title}, {"graph", report.graph}, {"passed", report.passed()}};
    if (!report.skipped.empty()) out["skipped"] = report.skipped;
    if (!report.note.empty()) out["note"] = report.note;
    out["checks"] = Json::array();
    for (const conform::Check& check : report.checks) {
        Json found = std::isfinite(check.found) ? Json(check.found) : Json(nullptr);
        out["checks"].push_back({{"name", check.name},
                                 {"found", std::move(found)},
                                 {"most", check.most},
                                 {"passed", check.passed()},
                                 {"note", check.note}});
        if (std::isfinite(check.least)) out["checks"].back()["least"] = check.least;
    }
    return out;
}

void print_command_conform(const conform::Report& report) {
    std::printf("%s\n", report.title.c_str());
    if (!report.skipped.empty()) {
        std::printf("    skipped on %s: %s\n", report.graph.c_str(), report.skipped.c_str());
        return;
    }
    for (const conform::Check& check : report.checks) {
        const bool range = std::isfinite(check.least);
        const auto number = [](double value) { return graphs::number_text(value, 3); };
        const std::string bound = range ? number(check.least) + " to " : "at most ";
        const std::string line = base::column("    " + check.name, 15) +
                                 base::column(number(check.found), 11) +
                                 base::column(bound + number(check.most), 16) +
                                 base::column(check.passed() ? "ok" : "FAILED", 7) + check.note;
        std::printf("%s\n", line.c_str());
    }
    if (!report.note.empty()) std::printf("    %s\n", report.note.c_str());
    std::fflush(stdout);
}

}  // namespace

int command_conform(comm::World& world, const ConformArguments& arguments) {
    base::set_log_identity(world.rank(), true);
    conform::Options options;
    options.replicas = arguments.n;
    options.thorough = !arguments.quick;
    if (!arguments.graph.empty()) {
        options.graph = graphs::resolve_graph(parse_member(arguments.graph, "graphs"), "--graph");
    }
    if (world.size() > arguments.n) {
        throw base::UserError("conform: " + std::to_string(world.size()) + " ranks for " +
                              std::to_string(arguments.n) + " replicas: raise --n");
    }
    const bool prints = world.rank() == 0;
    if (prints && !arguments.json) {
        std::printf("%d replicas on %d ranks, float64; deviations are relative\n\n", arguments.n,
                    world.size());
    }
    Json all = Json::array();
    int failed = 0, tried = 0;
    const auto take = [&](const conform::Report& report) {
        tried += report.skipped.empty();
        failed += !report.passed();
        if (prints && arguments.json) all.push_back(command_conform_to_json(report));
        if (prints && !arguments.json) print_command_conform(report);
    };
    for (const conform::ConformanceCase& subject :
         conform::conformance_cases(arguments.algorithm)) {
        take(conform::conform(world, subject, options));
    }
    for (const conform::Equality& equality : conform::equalities()) {
        const auto concerns = [&](const Json& algorithm) {
            return algorithm.at("type") == arguments.algorithm;
        };
        if (arguments.algorithm.empty() || concerns(equality.left) || concerns(equality.right)) {
            take(conform::conform(world, equality, options));
        }
    }
    if (prints && arguments.json) std::cout << all.dump(2) << "\n";
    if (prints && !arguments.json) {
        std::printf("\n%d of %d passed\n", tried - failed, tried);
    }
    return failed == 0 ? 0 : base::kExitFailed;
}

}  // namespace dbench::program
