#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals.hpp"
#include "profile/recorder.hpp"
#include "profile/result_file.hpp"
#include "program/commands.hpp"
#include "program/crash_log.hpp"
#include "program/heartbeat.hpp"
#include "program/placing.hpp"
#include "program/progress.hpp"
#include "program/provenance.hpp"
#include "program/recorded.hpp"
#include "program/resume.hpp"
#include "program/stability.hpp"
#include "train/device/allocator.hpp"
#include "train/device/device.hpp"

namespace dbench::bench {

using base::Json;

namespace {

std::unique_ptr<profile::Recorder> make_recorder(comm::World& world, const RunArguments& arguments,
                                                 const Setup& s, int threads, int64_t first,
                                                 const base::Stopwatch& clock, ProgressLine& line,
                                                 std::optional<Heartbeat>& heartbeat) {
    const auto& plan = s.session->plan();
    const profile::Features features = features_of(*s.session);
    profile::RecorderOptions o;
    o.path = s.spec.output;
    o.overwrite = arguments.overwrite || arguments.resume;
    o.first = first;
    o.clock = clock;
    o.name = s.spec.run.name;
    o.spec = s.spec.resolved.dump(2);
    o.provenance =
        provenance(world, arguments, *s.session, *s.device, s.on_device->carrier(), threads)
            .dump(2, ' ', false, Json::error_handler_t::replace);
    if (s.certificate) o.certificate = graphs::to_json(*s.certificate).dump();
    if (s.growth) o.stability = stability_json(s.spec.algorithm, *s.growth).dump();
    o.tensors = s.session->layout().tensors();
    o.precision = s.session->type();
    o.device = s.device->name();
    o.cpus = usable_cpus();
    o.evaluated = static_cast<int64_t>(s.session->evaluated().size());
    o.validation = features.validation;
    o.metrics = features.metrics;
    o.norms = features.norms;
    o.variance = features.variance;
    o.after = features.after;
    o.asynchronous = features.asynchronous;
    o.every = plan.profile.rows.mean_interval(plan.iterations);
    o.variance_every = plan.profile.variance.mean_interval(plan.iterations);
    o.schedule = s.session->schedule();
    if (o.schedule) o.certified = o.schedule->certified().matrix;
    o.graphs = s.spec.run.profile.graphs;
    o.iterations = plan.iterations;
    if (world.size() > 1) o.apart = plan.apart;
    o.evaluate_every = plan.evaluate_every;
    const train::Session::Load load = s.session->load();
    o.samples_per_iteration = load.samples;
    o.tokens_per_iteration = load.tokens;
    o.seconds_per_iteration = s.session->seconds_per_iteration();
    o.progress = [&](const profile::Progress& p) {
        line.show(p);
        if (heartbeat) heartbeat->beat(p);
    };
    return std::make_unique<profile::Recorder>(world, s.placement, std::move(o));
}

// Of a controller that has not acted, and what the algorithm has to tell: said, and kept in the
// result file. Collective.
void note_end(comm::World& world, profile::Recorder& recorder, const train::Session& session) {
    const graphs::Staged* staged = session.staged();
    const std::pair<const char*, std::string> notes[] = {
        {"controller", staged ? staged->idle() : ""}, {"algorithm", session.remark()}};
    if (world.rank() != 0) return;
    for (const auto& [kind, text] : notes) {
        if (text.empty()) continue;
        base::warn(text);
        recorder.event(session.plan().iterations - 1, kind, text);
    }
}

void say(const comm::World& world, const std::string& warning) {
    if (world.rank() == 0 && !warning.empty()) base::warn(warning);
}

// Whether the data or the machine are at fault, here or on another rank.
bool is_user_error(const std::exception& error) {
    const auto* peer = dynamic_cast<const comm::PeerFailure*>(&error);
    return peer ? peer->user_error : dynamic_cast<const base::UserError*>(&error) != nullptr;
}

// Ends the job after a failure while running: the file keeps the message, all ranks end.
[[noreturn]] void end_failed(comm::World& world, profile::Recorder& recorder,
                             const std::string& message, bool user_error,
                             const std::string& place) {
    write_crash_log(message);
    if (world.rank() == 0) {
        recorder.fail(message);
        base::report_error(message);
        say(world, place);
    } else {
        base::report_error(message);
        world.report_failure(message, user_error);
    }
    world.abort(user_error ? base::kExitUser : base::kExitFailed);
}

// One run; its exit status. `place`: said where it fails while running.
int run(comm::World& world, const RunArguments& arguments, const Spec& spec, int threads,
        const std::string& place) {
    base::note_preparation();
    stop_watching_for_crashes();
    Setup s = set_up(world, spec);
    const auto estimates = s.session->estimate();
    if (world.rank() == 0) {
        for (const auto& warning : s.session->warnings(estimates)) base::warn(warning);
        if (const std::string why = s.device->instead_of_card(); !why.empty()) {
            base::warn("device: cpu, since " + why);
        }
        if (s.placed) base::notice(placement_text(s));
        const std::string rows = s.session->rows_on_host();
        if (rows.starts_with("as messages") && !s.device->card())
            base::notice("ranks of a host exchange rows " + rows);
        const std::string& carrier = s.on_device->carrier();
        if (carrier.ends_with(")")) base::notice("rows travel between ranks by " + carrier);
    }
    train::Checkpoints checkpoints(world, s.placement, s.spec.output + ".checkpoints",
                                   s.spec.run.checkpoint.keep, s.spec.run.checkpoint.replicas);
    std::optional<train::CheckpointHead> head;
    if (arguments.resume) {
        const std::string status = status_of_output(world, s);
        if (status == "complete") {
            if (world.rank() == 0) base::notice(s.spec.output + " is complete already");
            return 0;
        }
        head = find_checkpoint(world, s, checkpoints, status);
        if (world.rank() == 0) {
            base::notice(head ? "going on from iteration " + std::to_string(head->iteration)
                              : "no checkpoint in " + checkpoints.folder() + ": from the start");
        }
    }
    claim_checkpoints(world, arguments, s, checkpoints);
    const MemoryNeed need{estimates.memory_bytes, s.device.get()};
    const auto prepare = [&] {
        const std::string obstacle = memory_obstacle(need, world.local_size());
        if (!obstacle.empty()) throw base::UserError(obstacle);
        s.session->prepare();
    };
    everywhere(world, prepare, need);
    s.session->choose_stacking();
    if (world.rank() == 0 && s.session->stacking().ends_with(")")) {
        base::notice("stacking: " + s.session->stacking());
    }
    if (world.rank() == 0 && s.session->resident().starts_with("off (")) {
        base::notice("resident data: " + s.session->resident());
    }
    if (world.rank() == 0 && s.device->card() && s.session->capture().ends_with(")")) {
        base::notice("capture: " + s.session->capture());
    }
    if (head) s.session->resume(checkpoints, *head);
    ProgressLine progress(arguments.quiet || world.rank() != 0);
    base::note_signals();
    const bool others = head && head->replicas != s.placement.replicas;
    everywhere(world, [&] {
        if (others && world.rank() == 0) keep_earlier_file(s.spec.output, head->iteration);
    });
    std::optional<Heartbeat> heartbeat;  // none before the result file is known to be this run's
    const base::Stopwatch clock(head ? head->elapsed : 0);
    const auto recorder = make_recorder(world, arguments, s, threads, head ? head->iteration : 0,
                                        clock, progress, heartbeat);
    if (world.rank() == 0) {
        profile::Progress start;
        start.first = start.completed = head ? head->iteration : 0;
        start.iterations = s.session->plan().iterations;
        heartbeat.emplace(s.spec.output, world.host(), start);
    }
    if (world.rank() == 0 && !head) remove_crash_logs(s.spec.output);
    watch_for_crashes(s.spec.output, world.rank(), world.host());
    std::string signal;
    try {
        if (!head) checkpoints.clear();
        if (others) {
            recorder->event(head->iteration - 1, "replicas",
                            std::to_string(head->replicas) + " became " +
                                std::to_string(s.placement.replicas) + " by " +
                                s.spec.resolved.at("checkpoint").at("replicas").get<std::string>());
        }
        if (head && is_other_device(head->device, s)) {
            recorder->event(head->iteration - 1, "device",
                            head->device + " became " + s.device->name());
        }
        signal = s.session->train(*recorder, checkpoints, clock);
        if (signal.empty()) {
            note_end(world, *recorder, *s.session);
            recorder->finish("complete");
        } else {
            recorder->finish("preempted", "stopped by " + signal + "; --resume goes on");
        }
    } catch (const std::exception& error) {
        progress.end();
        heartbeat.reset();
        end_failed(world, *recorder,
                   is_out_of_memory(error) ? memory_message(error, need) : base::reason_of(error),
                   is_user_error(error), place);
    }
    if (!signal.empty()) {
        progress.end();
        if (world.rank() == 0) {
            base::warn("stopped by " + signal + " after a checkpoint (" + checkpoints.folder() +
                       "): the same command with --resume goes on");
        }
        return base::kExitPreempted;
    }
    progress.end();
    if (world.rank() == 0 && !arguments.quiet) {
        base::notice("wrote " + s.spec.output + " (dbench-analyze report " + s.spec.output + ")");
    }
    return 0;
}

// Whether some rank has noted a signal. Collective.
bool asked_to_stop(comm::World& world) {
    std::vector<double> asked{base::noted_signal().empty() ? 0.0 : 1.0};
    world.sum(asked);
    return asked[0] > 0;
}

// Which of several specs a command ended with, and what was left; empty where there is one only.
std::string place_of(const std::vector<std::string>& specs, size_t k) {
    if (specs.size() == 1) return "";
    std::string text = "ended with " + specs[k] + ", " + std::to_string(k + 1) + " of " +
                       std::to_string(specs.size()) + " specs";
    for (size_t left = k + 1; left < specs.size(); ++left) {
        text += (left == k + 1 ? "; not run: " : ", ") + specs[left];
    }
    return text;
}

}  // namespace

int command_run(comm::World& world, const RunArguments& arguments) {
    base::set_log_identity(world.rank(), arguments.quiet);
    train::keep_freed_memory();
    const int threads = train::use_threads();
    const std::vector<Spec> specs = read_everywhere(world, arguments);
    for (size_t k = 0; k < specs.size(); ++k) {
        const std::string place = place_of(arguments.specs, k);
        if (k > 0 && asked_to_stop(world)) {
            say(world, "stopped by a signal before " + arguments.specs[k] +
                           ": the same command with --resume goes on");
            return base::kExitPreempted;
        }
        if (specs.size() > 1 && world.rank() == 0) {
            base::notice(arguments.specs[k] + ", " + std::to_string(k + 1) + " of " +
                         std::to_string(specs.size()) + " specs");
        }
        int status = base::kExitFailed;
        try {
            status = run(world, arguments, specs[k], threads, place);
        } catch (...) {
            say(world, place);
            throw;
        }
        if (status != 0) {
            say(world, place);
            return status;
        }
    }
    return 0;
}

}  // namespace dbench::bench
