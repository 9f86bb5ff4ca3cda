// dbench run: prepares each spec, trains it, and records it in its result file. On failures and
// signals it ends all ranks with the right exit status.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/signals.hpp"
#include "comm/world/common_clock.hpp"
#include "profile/recorder.hpp"
#include "profile/result_file.hpp"
#include "program/commands.hpp"
#include "program/crash_log.hpp"
#include "program/forecast_run.hpp"
#include "program/heartbeat.hpp"
#include "program/machine_costs.hpp"
#include "program/progress.hpp"
#include "program/provenance.hpp"
#include "program/rank_placement.hpp"
#include "program/result_plan.hpp"
#include "program/resume.hpp"
#include "program/stability.hpp"
#include "train/device/allocator.hpp"
#include "train/device/device.hpp"
#include "train/evaluation/evaluation.hpp"

namespace dbench::program {

using base::Json;

namespace {

// Predicts the run's step time from the calibration of the arguments, as JSON on rank 0; "" without
// one. Collective; throws UserError on all ranks.
std::string predict_run(comm::World& world, const RunArguments& arguments, PreparedRun& s,
                        int threads, const train::Estimates& estimates) {
    if (arguments.calibration.empty()) return "";
    constexpr int64_t kSimulated = 300;  // iterations; training waits for them
    const std::vector<std::string> hosts = world.all_gather(world.host());
    std::string text;
    run_on_all_ranks(world, [&] {
        std::vector<std::string> assumptions;
        const predict::Calibration calibration =
            world.rank() == 0 ? read_calibration(arguments.calibration, subject_of(s, threads),
                                                 arguments.accept_differences, assumptions)
                              : predict::Calibration{};
        ForecastRequest request;
        request.placement = s.placement;
        request.simulated = kSimulated;
        request.graphs = {"all-reduce"};
        request.site.host = number_hosts(hosts);
        request.site.replicas_per_rank = static_cast<double>(s.placement.count(0));
        if (world.rank() != 0) return;
        text = predict::to_json(
                   forecast_run(s, calibration, estimates, request, std::move(assumptions)))
                   .dump(2, ' ', false, Json::error_handler_t::replace);
    });
    return text;
}

std::unique_ptr<profile::Recorder> make_recorder(
    comm::World& world, const RunArguments& arguments, const PreparedRun& s, int threads,
    const std::string& prediction, int64_t first, bool continued, const base::Stopwatch& clock,
    const base::RunClock& common_clock, ProgressLine& line, std::optional<Heartbeat>& heartbeat) {
    const auto& plan = s.session->plan();
    const profile::Features features = result_features(*s.session);
    profile::RecorderOptions o;
    o.path = s.spec.output;
    o.overwrite = arguments.overwrite || arguments.resume;
    o.first = first;
    o.continued = continued;
    o.clock = clock;
    o.name = s.spec.run.name;
    o.spec = s.spec.resolved.dump(2);
    o.provenance = provenance(world, arguments, s, threads)
                       .dump(2, ' ', false, Json::error_handler_t::replace);
    o.prediction = prediction;
    if (s.certificate) {
        const Json& graph = s.spec.graph;
        o.certificate = graphs::to_json(*s.certificate).dump();
        o.certificate_of = (graph.is_array() ? graph.front() : graph).dump();
    }
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
    o.common_clock = common_clock;
    if (const auto& trace = s.spec.run.profile.trace) {
        o.traced = profile::TracedIterations{trace->begin, trace->end};
    }
    o.iterations = plan.iterations;
    if (world.size() > 1) o.min_sync_interval = plan.min_sync_interval;
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

// Prints the closing remarks of the controller (if it never acted) and of the algorithm, and
// records them in the result file. Collective.
void record_remarks(comm::World& world, profile::Recorder& recorder,
                    const train::Session& session) {
    const graphs::StagedSchedule* staged = session.staged();
    const std::pair<const char*, std::string> notes[] = {
        {"controller", staged ? staged->inactivity_reason() : ""}, {"algorithm", session.remark()}};
    if (world.rank() != 0) return;
    for (const auto& [kind, text] : notes) {
        if (text.empty()) continue;
        base::warn(text);
        recorder.event(session.plan().iterations - 1, kind, text);
    }
}

void warn_on_rank_0(const comm::World& world, const std::string& warning) {
    if (world.rank() == 0 && !warning.empty()) base::warn(warning);
}

// True if the data or the machine are at fault, on this rank or on another one.
bool is_user_error(const std::exception& error) {
    const auto* peer = dynamic_cast<const comm::PeerFailure*>(&error);
    return peer ? peer->user_error : dynamic_cast<const base::UserError*>(&error) != nullptr;
}

// Ends the job on all ranks after a failure during training; the result file keeps the message.
[[noreturn]] void end_failed(comm::World& world, profile::Recorder& recorder,
                             const std::string& message, bool user_error,
                             const std::string& position) {
    write_crash_log(message);
    if (world.rank() == 0) {
        recorder.fail(message);
        base::report_error(message);
        warn_on_rank_0(world, position);
    } else {
        base::report_error(message);
        world.report_failure(message, user_error);
    }
    world.abort(user_error ? base::kExitUser : base::kExitFailed);
}

// Runs one spec and returns the exit status. `place` is printed if the run fails during training.
int run(comm::World& world, const RunArguments& arguments, const Spec& spec, int threads,
        data::KeptData& data, const std::string& position) {
    base::note_preparation();
    stop_watching_for_crashes();
    PreparedRun s = prepare_run(world, spec, train::DevicePurpose::training, &data);
    const auto estimates = s.session->estimate();
    const std::string prediction = predict_run(world, arguments, s, threads, estimates);
    if (world.rank() == 0) {
        for (const auto& warning : s.session->warnings(estimates)) base::warn(warning);
        if (const std::string why = s.device->fallback_reason(); !why.empty()) {
            base::warn("device: cpu, because " + why);
        }
        if (s.rank_placement) base::notice(placement_text(s));
        const std::string rows = s.session->rows_on_host();
        if (rows.starts_with("as messages") && !s.device->gpu())
            base::notice("ranks on the same host exchange rows " + rows);
        const std::string& transport_name = s.on_device->transport_name();
        if (transport_name.ends_with(")"))
            base::notice("rows travel between ranks by " + transport_name);
    }
    train::Checkpoints checkpoints(world, s.placement, s.spec.output + ".checkpoints",
                                   s.spec.run.checkpoint.keep, s.spec.run.checkpoint.replicas);
    checkpoints.record_inputs(s.inputs.dump(-1, ' ', false, Json::error_handler_t::replace));
    std::optional<train::CheckpointHead> head;
    std::string changed_inputs;  // Data that differ from those before the checkpoint, in words.
    bool continued = false;
    if (arguments.resume) {
        const EarlierResult earlier = examine_output(world, s);
        continued = !earlier.status.empty();
        const bool complete = earlier.status == "complete";
        if (!complete) head = find_checkpoint(world, s, checkpoints, earlier.status);
        changed_inputs = require_recorded_inputs(world, arguments, earlier, head, s);
        if (complete) {
            if (world.rank() == 0) base::notice(s.spec.output + " is already complete");
            return 0;
        }
        if (world.rank() == 0) {
            base::notice(head ? "continuing from iteration " + std::to_string(head->iteration)
                              : "no checkpoint in " + checkpoints.folder() +
                                    ": starting from iteration 0");
        }
    }
    claim_checkpoints(world, arguments, s, checkpoints);
    const MemoryNeed need{estimates.memory_bytes, s.device.get()};
    const auto prepare = [&] {
        const std::string obstacle = memory_obstacle(need, world.local_size());
        if (!obstacle.empty()) throw base::UserError(obstacle);
        s.session->prepare();
    };
    run_on_all_ranks(world, prepare, need);
    s.session->choose_stacking();
    if (world.rank() == 0 && s.session->stacking().ends_with(")")) {
        base::notice("stacking: " + s.session->stacking());
    }
    if (world.rank() == 0 && s.session->resident().starts_with("off (")) {
        base::notice("resident data: " + s.session->resident());
    }
    if (world.rank() == 0 && s.device->gpu() && s.session->capture().ends_with(")")) {
        base::notice("capture: " + s.session->capture());
    }
    if (head) s.session->resume(checkpoints, *head);
    ProgressLine progress(arguments.quiet || world.rank() != 0);
    base::catch_signals();
    const bool other_replicas = head && head->replicas != s.placement.replicas;
    run_on_all_ranks(world, [&] {
        if (other_replicas && world.rank() == 0) copy_earlier_file(s.spec.output, head->iteration);
    });
    std::optional<Heartbeat> heartbeat;  // created once the result file is known to be this run's
    const base::Stopwatch clock(head ? head->elapsed : 0);
    const base::RunClock common_clock = comm::common_clock(world, clock);
    const auto recorder =
        make_recorder(world, arguments, s, threads, prediction, head ? head->iteration : 0,
                      continued, clock, common_clock, progress, heartbeat);
    if (world.rank() == 0) {
        profile::Progress start;
        start.first = start.completed = head ? head->iteration : 0;
        start.iterations = s.session->plan().iterations;
        heartbeat.emplace(s.spec.output, world.host(), start);
    }
    if (world.rank() == 0 && !head) {
        remove_crash_logs(s.spec.output);
        train::remove_texts(s.spec.output + ".texts");
    }
    watch_for_crashes(s.spec.output, world.rank(), world.host());
    std::string signal;
    try {
        if (!head) checkpoints.clear();
        if (other_replicas) {
            recorder->event(head->iteration - 1, "replicas",
                            std::to_string(head->replicas) + " became " +
                                std::to_string(s.placement.replicas) + " by " +
                                s.spec.resolved.at("checkpoint").at("replicas").get<std::string>());
        }
        if (head && is_other_device(head->device, s)) {
            recorder->event(head->iteration - 1, "device",
                            head->device + " became " + s.device->name());
        }
        if (!changed_inputs.empty()) {
            recorder->event(head->iteration - 1, "data", changed_inputs.substr(0, 512));
        }
        signal = s.session->train(*recorder, checkpoints, clock, common_clock);
        if (signal.empty()) {
            record_remarks(world, *recorder, *s.session);
            recorder->finish("complete");
        } else {
            recorder->finish("preempted", "stopped by " + signal + "; --resume continues the run");
        }
    } catch (const std::exception& error) {
        progress.end();
        heartbeat.reset();
        end_failed(world, *recorder,
                   is_out_of_memory(error) ? memory_message(error, need) : base::reason_of(error),
                   is_user_error(error), position);
    }
    if (!signal.empty()) {
        progress.end();
        if (world.rank() == 0) {
            base::warn("stopped by " + signal + " after a checkpoint (" + checkpoints.folder() +
                       "): the same command with --resume continues the run");
        }
        return base::kExitPreempted;
    }
    progress.end();
    if (world.rank() == 0 && !arguments.quiet) {
        base::notice("wrote " + s.spec.output + " (dbench-analyze report " + s.spec.output + ")");
    }
    return 0;
}

// True if any rank has received a signal. Collective.
bool stop_requested(comm::World& world) {
    std::vector<double> requested{base::received_signal().empty() ? 0.0 : 1.0};
    world.sum(requested);
    return requested[0] > 0;
}

// Says at which of several specs the command ended and which were not run; empty for a single spec.
std::string position_text(const std::vector<std::string>& specs, size_t k) {
    if (specs.size() == 1) return "";
    std::string text = "ended at " + specs[k] + ", spec " + std::to_string(k + 1) + " of " +
                       std::to_string(specs.size());
    for (size_t left = k + 1; left < specs.size(); ++left) {
        text += (left == k + 1 ? "; not run: " : ", ") + specs[left];
    }
    return text;
}

}  // namespace

void end_on_signals_before_training() {
    base::end_on_signals(
        base::kExitPreempted,
        "before training began: this start has written nothing, and earlier results "
        "and checkpoints are as they were; the same command with --resume starts "
        "or continues the run");
}

int command_run(comm::World& world, const RunArguments& arguments) {
    base::set_log_identity(world.rank(), arguments.quiet);
    train::keep_freed_memory();
    const int threads = train::use_threads();
    const std::vector<Spec> specs = read_specs(world, arguments);
    data::KeptData data;  // Runs of one start often use the same samples.
    for (size_t k = 0; k < specs.size(); ++k) {
        const std::string position = position_text(arguments.specs, k);
        if (k > 0 && stop_requested(world)) {
            warn_on_rank_0(world, "stopped by a signal before " + arguments.specs[k] +
                                      ": the same command with --resume continues");
            return base::kExitPreempted;
        }
        if (specs.size() > 1 && world.rank() == 0) {
            base::notice(arguments.specs[k] + ", spec " + std::to_string(k + 1) + " of " +
                         std::to_string(specs.size()));
        }
        int status = base::kExitFailed;
        try {
            end_on_signals_before_training();
            status = run(world, arguments, specs[k], threads, data, position);
        } catch (...) {
            warn_on_rank_0(world, position);
            throw;
        }
        if (status != 0) {
            warn_on_rank_0(world, position);
            return status;
        }
    }
    return 0;
}

}  // namespace dbench::program
