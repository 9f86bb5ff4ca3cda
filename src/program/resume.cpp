#include "program/resume.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "profile/result_file.hpp"

namespace dbench::bench {

using base::Json;

namespace {

// Whether delays change more than times: in virtual time they say who averages when.
bool delays_order(const Json& spec) {
    if (!spec.contains("algorithm")) return false;
    const std::string type = spec.at("algorithm").at("type");
    const auto* row = base::find_entry(algorithms::algorithm_table(), type);
    return row && row->accepts.asynchronous;
}

// What two specs differ in that training or recording depends on; empty where in nothing.
std::string difference(Json a, Json b, bool other_replicas, bool other_device) {
    std::vector<const char*> all_free = {"checkpoint", "output",    "notes",  "name",
                                         "device",     "placement", "capture"};
    if (!delays_order(a)) all_free.push_back("delays");
    if (other_replicas) all_free.push_back("replicas");
    if (other_device) all_free.push_back("stacking");  // bits differ between devices, too
    for (Json* spec : {&a, &b}) {
        for (const char* free : {"threads", "resident"}) spec->at("data").erase(free);
    }
    for (const char* free : all_free) {
        a.erase(free);
        b.erase(free);
    }
    std::string pointers;
    for (const Json& change : Json::diff(a, b)) {
        pointers += (pointers.empty() ? "" : ", ") + change.at("path").get<std::string>();
    }
    return pointers;
}

}  // namespace

bool is_other_device(const std::string& earlier, const Setup& s) {
    const auto kind = [](const std::string& name) { return name.substr(name.find(' ') + 1); };
    return !earlier.empty() && kind(earlier) != kind(s.device->name());
}

std::string status_of_output(comm::World& world, const Setup& s) {
    const std::string& path = s.spec.output;
    std::string status;
    everywhere(world, [&] {
        if (world.rank() != 0 || !std::filesystem::exists(path)) return;
        const profile::Inspection found = profile::inspect(path);
        if (!found.readable || !Json::accept(found.spec)) {
            throw base::UserError("--resume: " + path + " cannot be read (" + found.problem +
                                  "): put a copy back, or begin anew with --overwrite");
        }
        status = found.status;
        const std::string changed =
            difference(Json::parse(found.spec), s.spec.resolved,
                       found.status != "complete" && found.replicas != s.placement.replicas,
                       is_other_device(found.device, s));
        if (!changed.empty()) {
            throw base::UserError("--resume: the spec is not that of " + path + ", which is " +
                                  status + " (" + changed +
                                  " differ): go on with the same spec, choose another --output, "
                                  "or begin anew with --overwrite");
        }
    });
    world.broadcast(status);
    return status;
}

std::optional<train::CheckpointHead> find_checkpoint(comm::World& world, const Setup& s,
                                                     train::Checkpoints& checkpoints,
                                                     const std::string& status) {
    auto head = checkpoints.newest();
    std::string problem;
    if (head) {
        const std::string changed = difference(
            Json::parse(head->spec), s.spec.resolved, head->replicas != s.placement.replicas,
            head->device.empty() || is_other_device(head->device, s));
        problem = s.session->cannot_change_replicas(*head);
        if (!problem.empty()) {
            problem = "--resume: " + problem;
        } else if (!changed.empty()) {
            problem = "--resume: the spec is not that of the checkpoint in " +
                      checkpoints.folder() + " (" + changed +
                      " differ): go on with the same spec, or begin anew with --overwrite";
        } else if (status.empty()) {
            problem = "--resume: there is a checkpoint in " + checkpoints.folder() +
                      ", but no result file " + s.spec.output +
                      " to go on with: put it back, or begin anew with --overwrite";
        }
    }
    world.agree(problem, true);
    return head;
}

void claim_checkpoints(comm::World& world, const RunArguments& arguments, const Setup& s,
                       train::Checkpoints& checkpoints) {
    everywhere(world, [&] {
        if (world.rank() != 0) return;
        const bool anew = !arguments.resume && !arguments.overwrite;
        if (anew && !std::filesystem::exists(s.spec.output) && checkpoints.any()) {
            throw base::UserError("there are checkpoints in " + checkpoints.folder() +
                                  ", but no result file " + s.spec.output +
                                  ": put it back and give --resume, or choose another --output, "
                                  "or remove them with --overwrite");
        }
        checkpoints.claim();
    });
}

void keep_earlier_file(const std::string& output, int64_t iteration) {
    namespace fs = std::filesystem;
    const std::string kept = output + ".until-" + std::to_string(iteration) + ".h5";
    std::error_code error;
    fs::copy_file(output, kept, fs::copy_options::overwrite_existing, error);
    if (error) {
        throw base::UserError("the result file of the earlier replicas cannot be kept as " + kept +
                              " (" + error.message() + "): make room, or change /output");
    }
    base::notice(output + " until iteration " + std::to_string(iteration) + " is kept as " + kept);
}

}  // namespace dbench::bench
