// dbench check: prepares a spec as `run` does, without training, and prints the resolved spec, its
// memory, traffic, graph and warnings.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/framing.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "graphs/proof/coincidence.hpp"
#include "profile/output_check.hpp"
#include "program/check_points.hpp"
#include "program/check_report.hpp"
#include "program/commands.hpp"
#include "program/resume.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace dbench::program {

using base::Json;

namespace {

// Plans the run on as many ranks as the arguments say. Collective.
Planned planned(comm::World& world, const PreparedRun& s, const RunArguments& arguments) {
    Planned found;
    found.placement = s.placement;
    found.local = local_ranks(world);
    if (arguments.ranks > 0) {
        if (world.size() > 1) {
            throw base::UserError("--ranks: " + std::to_string(world.size()) +
                                  " ranks have been started, and the option plans for ranks that "
                                  "are not: leave it out, or start one process");
        }
        found.placement.ranks = arguments.ranks;
        found.local = {};
    }
    run_on_all_ranks(world, [&] {
        found.estimates = s.session->estimate(found.placement);
        if (arguments.activations && world.rank() == 0) {
            found.activation_bytes = s.session->activation_bytes(found.placement);
        }
    });
    return found;
}

std::string length_warning(const PreparedRun& s, const train::Estimates& e) {
    const auto& certificate = s.certificate;
    if (!certificate || !certificate->iterations_to_1e3 ||
        *certificate->iterations_to_1e3 <= e.iterations) {
        return "";
    }
    return "/length: the run is shorter than the " +
           std::to_string(*certificate->iterations_to_1e3) +
           " iterations that this graph needs to reduce disagreement by a factor of 1000";
}

// Returns why a run that starts now would be refused because of its output; "" if it would not.
std::string refusal_of_output(comm::World& world, const PreparedRun& s) {
    const std::string obstacle = profile::output_obstacle(s.spec.output);
    if (!obstacle.empty()) return obstacle;
    try {
        const train::Checkpoints checkpoints(world, s.placement, s.spec.output + ".checkpoints",
                                             s.spec.run.checkpoint.keep);
        return lost_result_obstacle(s, checkpoints);
    } catch (const base::UserError& error) {  // A folder cannot be read.
        return error.what();
    }
}

// Returns what would keep a run that starts now from writing its result; "" if nothing is known to.
std::string output_warning(comm::World& world, const PreparedRun& s, const Planned& plan) {
    const std::string obstacle = refusal_of_output(world, s);
    if (!obstacle.empty()) return "/output: a run would be refused now: " + obstacle;
    const int64_t wanted = planned_result_bytes(s, plan);
    const auto available = profile::free_bytes_at(s.spec.output);
    if (!available || *available >= wanted) return "";
    return "/output: the rows of the result file have " +
           base::bytes_text(static_cast<double>(wanted)) + " before compression, and " +
           base::bytes_text(static_cast<double>(*available)) + " are free where " + s.spec.output +
           " would be (free space, record less in /profile, or choose another --output)";
}

// Returns warnings about settings that may make the run fail or differ from what was intended.
// `output`: also about the place of the result file.
std::vector<std::string> warnings_of(comm::World& world, const PreparedRun& s, const Planned& plan,
                                     bool output) {
    const train::Estimates& e = plan.estimates;
    auto all = s.session->warnings(e);
    if (s.graph) {
        const std::string same =
            graphs::coincidence_text(graphs::graph_title(s.spec.graph), s.graph->size(),
                                     graphs::coincidences(*s.graph, s.spec.graph));
        if (!same.empty()) all.push_back("/graph: " + same);
    }
    const auto add = [&](const std::string& warning) {
        if (!warning.empty()) all.push_back(warning);
    };
    add(length_warning(s, e));
    if (output) add(output_warning(world, s, plan));
    const std::string memory =
        memory_obstacle({e.memory_bytes, s.device.get()}, world.local_size());
    add(memory);
    if (!s.device->is_host() && !s.device->gpu()) {
        all.push_back("/device: there is no GPU on " + world.host() +
                      ", so the size of its memory is unknown");
    }
    return all;
}

// Returns the warnings that the preparation has printed, on rank 0. The process that is rank 0 may
// have changed meanwhile. Collective.
std::vector<std::string> printed_warnings(comm::World& world, const base::KeptWarnings& kept) {
    std::vector<std::string> all;
    for (const std::string& texts : world.gather(base::join_texts(kept.texts()))) {
        for (std::string& text : base::split_texts(texts)) {
            if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
        }
    }
    return all;
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

int check_one(comm::World& world, const RunArguments& arguments, bool json) {
    const base::KeptWarnings kept;
    const PreparedRun s =
        prepare_run(world, read_specs(world, arguments).front(), train::DevicePurpose::planning);
    const Planned plan = planned(world, s, arguments);
    const auto printed = printed_warnings(world, kept);
    if (world.rank() != 0) return 0;
    const auto warnings = warnings_of(world, s, plan, true);
    if (json) {
        std::cout << check_json(s, plan, joined(printed, warnings)).dump(2) << "\n";
    } else {
        print_check(s, plan, arguments.purposes);
        std::cout.flush();
    }
    for (const auto& warning : warnings) base::warn(warning);
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

// Returns the answer about one spec of several: its JSON, or a line of text without `json`. The
// process that is rank 0 afterwards has it, all others get null. Collective; throws UserError on
// all ranks.
Json answer_about(comm::World& world, const Case& one, bool json, OutputWriters& writers,
                  data::KeptData& data) {
    const RunArguments& arguments = one.arguments;
    const bool point = !arguments.points.empty();
    const base::KeptWarnings kept;
    const Spec spec = read_specs(world, arguments).front();
    // A warning only: specs that are checked together may be run one by one.
    const std::string same = point ? "" : writers.add(one.name, spec.output);
    if (!same.empty() && world.rank() == 0) base::warn(same);
    const PreparedRun s = prepare_run(world, spec, train::DevicePurpose::planning, &data);
    const Planned plan = planned(world, s, arguments);
    const auto printed = printed_warnings(world, kept);
    if (world.rank() != 0) return nullptr;
    if (json) {
        // A point of a sweep does not say where the sweep puts its result.
        const auto warnings = warnings_of(world, s, plan, !point);
        return check_json(s, plan, joined(printed, warnings));
    }
    std::string text = check_summary(s, plan);
    for (const std::string& purpose : arguments.purposes) {
        text += "; compares " + purpose + ": " + purpose_text(plan.hindrances(s, purpose));
    }
    return text;
}

// Gives the value of the only process that has one to the process that the launcher started first,
// because a placement may have made another process rank 0. Collective.
Json to_first_process(comm::World& world, const Json& value) {
    world.renumber({});
    base::set_log_rank(world.rank());
    const auto replace = Json::error_handler_t::replace;
    for (const std::string& text :
         world.gather(value.is_null() ? "" : value.dump(-1, ' ', false, replace))) {
        if (!text.empty()) return Json::parse(text);
    }
    return nullptr;
}

// Checks each spec on its own: after an error in one spec, the others are still checked. Prints an
// object with the answer of each file, or the list of the points' answers.
int check_several(comm::World& world, const RunArguments& arguments, bool json) {
    const bool points = !arguments.points.empty();
    Json all = points ? Json::array() : Json::object();
    int status = 0;
    OutputWriters writers;
    data::KeptData data;  // Specs of a sweep often differ in other keys.
    for (const Case& one : cases_of(world, arguments)) {
        Json found;
        std::string error;
        try {
            found = answer_about(world, one, json, writers, data);
        } catch (const base::UserError& thrown) {  // on all ranks
            status = base::kExitUser;
            error = thrown.what();
        }
        found = to_first_process(world, found);
        if (world.rank() != 0) continue;
        if (!error.empty()) {
            base::report_error(error.starts_with(one.name) ? error : one.name + ": " + error);
            found = {{"error", error}};
        } else if (!json) {
            std::cout << one.name << ": " << found.get<std::string>() << std::endl;
        }
        if (points) {
            all.push_back(std::move(found));
        } else {
            all[one.name] = std::move(found);
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
