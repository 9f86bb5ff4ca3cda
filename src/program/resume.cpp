#include "program/resume.hpp"

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/input_file.hpp"
#include "base/log.hpp"
#include "profile/result_file.hpp"
#include "program/inputs.hpp"

namespace dbench::program {

using base::Json;

namespace {

// True if delays change results and not only times: asynchronous algorithms run in virtual time, in
// which delays determine who averages when.
bool delays_change_results(const Json& spec) {
    if (!spec.contains("algorithm")) return false;
    const std::string type = spec.at("algorithm").at("type");
    const auto* row = base::find_entry(algorithms::algorithm_table(), type);
    return row && row->traits.asynchronous;
}

// Removes the entry at a JSON pointer, if it exists.
void remove_entry(Json& spec, const std::string& pointer) {
    const Json::json_pointer entry(pointer);
    if (spec.contains(entry)) spec.at(entry.parent_pointer()).erase(entry.back());
}

// Returns the JSON pointers in which two specs differ, except entries that change neither training
// nor recording; empty if there are none.
std::string difference(Json a, Json b, bool other_replicas, bool other_device) {
    std::vector<std::string> free = entries_free_to_change(a);
    if (other_replicas) free.push_back("/replicas");
    if (other_device) free.push_back("/stacking");  // bits differ between devices anyway
    for (const std::string& pointer : free) {
        remove_entry(a, pointer);
        remove_entry(b, pointer);
    }
    std::string pointers;
    for (const Json& change : Json::diff(a, b)) {
        pointers += (pointers.empty() ? "" : ", ") + change.at("path").get<std::string>();
    }
    return pointers;
}

// Returns the inputs of earlier segments that a result file lists, up to `iteration`; null if there
// are none.
Json earlier_changes(const std::string& provenance, int64_t iteration) {
    if (!Json::accept(provenance)) return nullptr;
    const Json all = Json::parse(provenance);
    if (!all.is_object() || !all.contains("earlier_inputs")) return nullptr;
    if (!all["earlier_inputs"].is_array()) return nullptr;
    Json kept = Json::array();
    for (const Json& each : all["earlier_inputs"]) {
        if (!each.is_object()) continue;
        const Json until = each.value("until_iteration", Json());
        if (until.is_number() && until.get<int64_t>() < iteration) kept.push_back(each);
    }
    return kept.empty() ? Json(nullptr) : kept;
}

// True if both are result files of one run: all starts of a run keep the time of its first start.
bool is_same_run(const std::string& a, const std::string& b) {
    try {
        const std::string started = profile::inspect(a).started;
        return !started.empty() && started == profile::inspect(b).started;
    } catch (const base::UserError&) {
        return false;
    }
}

}  // namespace

std::vector<std::string> entries_free_to_change(const Json& spec) {
    std::vector<std::string> free = {"/checkpoint",    "/output",        "/notes",
                                     "/name",          "/device",        "/share_gpus",
                                     "/placement",     "/capture",       "/data/threads",
                                     "/data/resident", "/profile/trace", "/allow_disconnected"};
    if (!delays_change_results(spec)) free.push_back("/delays");
    // The digest of the model's file is compared instead.
    if (spec.contains(Json::json_pointer("/model/path"))) free.push_back("/model/path");
    return free;
}

bool is_other_device(const std::string& earlier, const PreparedRun& s) {
    const auto kind = [](const std::string& name) { return name.substr(name.find(' ') + 1); };
    return !earlier.empty() && kind(earlier) != kind(s.device->name());
}

EarlierResult examine_output(comm::World& world, const PreparedRun& s) {
    const std::string& path = s.spec.output;
    EarlierResult earlier;
    std::string& status = earlier.status;
    run_on_all_ranks(world, [&] {
        if (world.rank() != 0 || base::kind_of(path) == base::PathKind::nothing) return;
        profile::Inspection found = profile::inspect(path);
        if (found.flagged && !found.readable && found.writer == profile::Writer::dead) {
            profile::clear_write_mark(path);  // Its writer was killed while it wrote the outcome.
            found = profile::inspect(path);
        }
        if (!found.readable || !Json::accept(found.spec)) {
            throw base::UserError("--resume: " + path + " cannot be read (" + found.problem +
                                  "): restore a copy, or start again with --overwrite");
        }
        status = found.status;
        earlier.provenance = found.provenance;
        earlier.replicas = found.replicas;
        const std::string changed =
            difference(Json::parse(found.spec), s.spec.resolved,
                       found.status != "complete" && found.replicas != s.placement.replicas,
                       is_other_device(found.device, s));
        if (!changed.empty()) {
            throw base::UserError("--resume: the spec is not that of " + path +
                                  ", which has the status " + status + " (" + changed +
                                  " differ): use the same spec, choose another --output, or start "
                                  "again with --overwrite");
        }
    });
    world.broadcast(status);
    return earlier;
}

std::string require_recorded_inputs(comm::World& world, const RunArguments& arguments,
                                    const EarlierResult& earlier,
                                    const std::optional<train::CheckpointHead>& head,
                                    PreparedRun& s) {
    if (!head && earlier.status != "complete") return "";  // The run starts from iteration 0.
    std::string changes;
    run_on_all_ranks(world, [&] {
        if (world.rank() != 0) return;
        const int64_t done = head ? head->iteration : s.session->plan().iterations;
        Json then = recorded_inputs(earlier.provenance);
        if (const Json saved = parsed_inputs(head ? head->inputs : ""); !saved.is_null())
            then = saved;
        s.earlier_inputs = earlier_changes(earlier.provenance, done);
        if (then.is_null()) {
            base::warn("--resume: " + s.spec.output +
                       " does not say what data the run had read, so changes cannot be noticed");
            return;
        }
        changes = input_changes(then, s.inputs);
        if (changes.empty()) return;
        if (!arguments.accept_changed_data) {
            throw base::UserError("--resume: data or files have changed since the run " +
                                  std::string(head ? "was stopped" : "was completed") + " (" +
                                  changes +
                                  "): restore them, start again with --overwrite, or give "
                                  "--accept-changed-data to continue with other data");
        }
        if (head && done >= s.session->plan().iterations) {
            throw base::UserError("--resume: with the changed data (" + changes + ") the run has " +
                                  std::to_string(s.session->plan().iterations) +
                                  " iterations, and the checkpoint is of iteration " +
                                  std::to_string(done) +
                                  ": restore the data, or start again with --overwrite");
        }
        if (s.earlier_inputs.is_null()) s.earlier_inputs = Json::array();
        s.earlier_inputs.push_back({{"until_iteration", done}, {"inputs", then}});
        base::warn("--accept-changed-data: " + changes);
    });
    world.broadcast(changes);
    return changes;
}

std::optional<train::CheckpointHead> find_checkpoint(comm::World& world, const PreparedRun& s,
                                                     train::Checkpoints& checkpoints,
                                                     const std::string& status) {
    auto head = checkpoints.newest();
    std::string problem;
    if (head) {
        const std::string changed = difference(
            Json::parse(head->spec), s.spec.resolved, head->replicas != s.placement.replicas,
            head->device.empty() || is_other_device(head->device, s));
        problem = s.session->replica_change_obstacle(*head);
        if (!problem.empty()) {
            problem = "--resume: " + problem;
        } else if (!changed.empty()) {
            problem = "--resume: the spec is not that of the checkpoint in " +
                      checkpoints.folder() + " (" + changed +
                      " differ): use the same spec, or start again with --overwrite";
        } else if (status.empty()) {
            problem = "--resume: there is a checkpoint in " + checkpoints.folder() +
                      ", but its result file " + s.spec.output +
                      " is missing: restore it, or start again with --overwrite";
        }
    }
    world.agree(problem, true);
    return head;
}

std::string lost_result_obstacle(const PreparedRun& s, const train::Checkpoints& checkpoints) {
    const bool lost = base::kind_of(s.spec.output) == base::PathKind::nothing && checkpoints.any();
    if (!lost) return "";
    return "there are checkpoints in " + checkpoints.folder() + ", but their result file " +
           s.spec.output +
           " is missing: restore it and give --resume, choose another --output, or remove the "
           "checkpoints with --overwrite";
}

void claim_checkpoints(comm::World& world, const RunArguments& arguments, const PreparedRun& s,
                       train::Checkpoints& checkpoints) {
    run_on_all_ranks(world, [&] {
        if (world.rank() != 0) return;
        const bool anew = !arguments.resume && !arguments.overwrite;
        const std::string lost = anew ? lost_result_obstacle(s, checkpoints) : "";
        if (!lost.empty()) throw base::UserError(lost);
        checkpoints.claim();
    });
}

void copy_earlier_file(const std::string& output, int64_t iteration) {
    namespace fs = std::filesystem;
    const std::string name = output + ".until-" + std::to_string(iteration);
    std::string kept = name + ".h5";
    for (int k = 2; base::kind_of(kept) != base::PathKind::nothing; ++k) {
        if (is_same_run(kept, output)) return;
        kept = name + "-" + std::to_string(k) + ".h5";
    }
    const std::string partial = kept + ".partial";  // A copy that fails leaves no damaged file.
    std::error_code error, ignored;
    fs::remove(partial, ignored);
    fs::copy_file(output, partial, error);
    if (!error && !base::rename_without_replacing(partial, kept)) {
        error = std::error_code(errno, std::generic_category());
    }
    if (error) {
        fs::remove(partial, ignored);
        throw base::UserError("the result file cannot be copied to " + kept + " (" +
                              error.message() + "): free disk space, or change /output");
    }
    base::notice("the first " + std::to_string(iteration) + " iterations of " + output +
                 " are kept as " + kept);
}

}  // namespace dbench::program
