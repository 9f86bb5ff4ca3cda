// dbench check: prepares a spec as `run` does, without training, and prints the resolved spec, its
// memory, traffic, graph and warnings.
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "graphs/proof/coincidence.hpp"
#include "program/check_points.hpp"
#include "program/check_report.hpp"
#include "program/commands.hpp"

namespace dbench::program {

using base::Json;

namespace {

// Plans the run on as many ranks as the arguments say. Collective.
Planned planned(comm::World& world, const PreparedRun& s, const RunArguments& arguments) {
    Planned found;
    found.placement = s.placement;
    found.local_ranks = world.local_size();
    if (arguments.ranks > 0) {
        if (world.size() > 1) {
            throw base::UserError("--ranks: " + std::to_string(world.size()) +
                                  " ranks have been started, and the option plans for ranks that "
                                  "are not: leave it out, or start one process");
        }
        found.placement.ranks = arguments.ranks;
        found.local_ranks = 0;
    }
    run_on_all_ranks(world, [&] {
        found.estimates = s.session->estimate(found.placement);
        if (arguments.activations && world.rank() == 0) {
            found.activation_bytes = s.session->activation_bytes(found.placement);
        }
    });
    return found;
}

void warn_of_length(const PreparedRun& s, const train::Estimates& e) {
    const auto& certificate = s.certificate;
    if (certificate && certificate->iterations_to_1e3 &&
        *certificate->iterations_to_1e3 > e.iterations) {
        base::warn("/length: the run is shorter than the " +
                   std::to_string(*certificate->iterations_to_1e3) +
                   " iterations that this graph needs to reduce disagreement by a factor of 1000");
    }
}

// Returns warnings about settings that may make the run fail or differ from what was intended.
std::vector<std::string> warnings_of(const comm::World& world, const PreparedRun& s,
                                     const train::Estimates& e) {
    auto all = s.session->warnings(e);
    if (s.graph) {
        const std::string same =
            graphs::coincidence_text(graphs::graph_title(s.spec.graph), s.graph->size(),
                                     graphs::coincidences(*s.graph, s.spec.graph));
        if (!same.empty()) all.push_back("/graph: " + same);
    }
    const std::string memory =
        memory_obstacle({e.memory_bytes, s.device.get()}, world.local_size());
    if (!memory.empty()) all.push_back(memory);
    if (!s.device->is_host() && !s.device->gpu()) {
        all.push_back("/device: there is no GPU on " + world.host() +
                      ", so the size of its memory is unknown");
    }
    return all;
}

int check_one(comm::World& world, const RunArguments& arguments, bool json) {
    const PreparedRun s =
        prepare_run(world, read_specs(world, arguments).front(), train::DevicePurpose::planning);
    const Planned plan = planned(world, s, arguments);
    if (world.rank() != 0) return 0;
    const auto warnings = warnings_of(world, s, plan.estimates);
    if (json) {
        std::cout << check_json(s, plan, warnings).dump(2) << "\n";
    } else {
        print_check(s, plan, arguments.purposes);
        std::cout.flush();
    }
    for (const auto& warning : warnings) base::warn(warning);
    warn_of_length(s, plan.estimates);
    return 0;
}

// A spec to check among others: its name in messages, and the arguments that select it.
struct Case {
    std::string name;
    RunArguments arguments;
};

// Returns the specs that are to be checked: those of the command line, or one spec at each point of
// a sweep. Collective; throws UserError on all ranks.
std::vector<Case> cases_of(comm::World& world, const RunArguments& arguments) {
    std::vector<Case> cases;
    if (arguments.points.empty()) {
        for (const std::string& file : arguments.specs) {
            cases.push_back({file, arguments});
            cases.back().arguments.specs = {file};
            cases.back().arguments.one_of_several = true;
        }
        return cases;
    }
    if (arguments.specs.size() > 1) {
        throw base::UserError("--points: the points belong to one spec, and " +
                              std::to_string(arguments.specs.size()) + " are given: give one");
    }
    run_on_all_ranks(world, [&] {
        if (world.rank() != 0) return;
        for (RunArguments& point : read_points(arguments.points, arguments)) {
            cases.push_back({"point " + std::to_string(cases.size()), std::move(point)});
        }
    });
    Json ranks = Json::array();  // Rank 0 reads the specs; the other ranks need nothing else.
    for (const Case& each : cases) ranks.push_back(each.arguments.ranks);
    std::string text = ranks.dump();
    world.broadcast(text);
    if (world.rank() == 0) return cases;
    for (const Json& each : Json::parse(text)) {
        cases.push_back({"", arguments});
        cases.back().arguments.ranks = each;
    }
    return cases;
}

// Checks each spec on its own: after an error in one spec, the others are still checked. Prints an
// object with the answer of each file, or the list of the points' answers.
int check_several(comm::World& world, const RunArguments& arguments, bool json) {
    const bool points = !arguments.points.empty();
    Json all = points ? Json::array() : Json::object();
    const auto answer = [&](const Case& one, Json value) {
        if (points) {
            all.push_back(std::move(value));
        } else {
            all[one.name] = std::move(value);
        }
    };
    int status = 0;
    OutputWriters writers;
    data::KeptData data;  // Specs of a sweep often differ in other keys.
    for (const Case& one : cases_of(world, arguments)) {
        try {
            const Spec spec = read_specs(world, one.arguments).front();
            // A warning only: specs that are checked together may be run one by one.
            const std::string same = points ? "" : writers.add(one.name, spec.output);
            if (!same.empty() && world.rank() == 0) base::warn(same);
            const PreparedRun s = prepare_run(world, spec, train::DevicePurpose::planning, &data);
            const Planned plan = planned(world, s, one.arguments);
            if (world.rank() != 0) continue;
            if (json) {
                answer(one, check_json(s, plan, warnings_of(world, s, plan.estimates)));
            } else {
                std::cout << one.name << ": " << check_summary(s, plan);
                for (const std::string& purpose : arguments.purposes) {
                    std::cout << "; compares " << purpose << ": "
                              << purpose_text(plan.hindrances(s, purpose));
                }
                std::cout << std::endl;
            }
        } catch (const base::UserError& error) {  // thrown on all ranks
            status = base::kExitUser;
            if (world.rank() != 0) continue;
            const std::string what = error.what();
            base::report_error(what.starts_with(one.name) ? what : one.name + ": " + what);
            answer(one, {{"error", what}});
        }
    }
    if (json && world.rank() == 0) {
        std::cout << all.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    }
    return status;
}

}  // namespace

int command_check(comm::World& world, const RunArguments& arguments, bool json) {
    base::set_log_identity(world.rank(), arguments.quiet);
    train::use_threads();  // Otherwise the passes of --activations would use all cores.
    return arguments.specs.size() == 1 && arguments.points.empty()
               ? check_one(world, arguments, json)
               : check_several(world, arguments, json);
}

}  // namespace dbench::program
