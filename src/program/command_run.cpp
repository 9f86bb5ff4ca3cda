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
#include "program/abort_job.hpp"
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

// The point from which a run starts or continues.
struct StartPoint {
    std::optional<train::CheckpointHead> head;  ///< Empty: it starts from iteration 0.
    bool continued = false;                     ///< There is an earlier result file, which is kept.
    bool complete = false;          ///< The earlier run is complete: nothing is left to do.
    int64_t recorded_replicas = 0;  ///< The earlier result file's; on rank 0 only.
    std::string changed_inputs;  ///< Data that differ from those before the checkpoint, in words.

    int64_t iteration() const { return head ? head->iteration : 0; }
    bool changes_replicas(const PreparedRun& s) const {
        return head && head->replicas != s.placement.replicas;
    }
    // False if a start with other replicas, which ended before its first checkpoint, has already
    // replaced the result file.
    bool file_fits_checkpoint() const { return head && head->replicas == recorded_replicas; }
};

// The clocks of a run on this rank.
struct RunClocks {
    base::Stopwatch run;    ///< Run time, summed over restarts.
    base::RunClock common;  ///< The clock of rank 0.
};

// The progress that a run shows: a line on the terminal, and a file for other programs, which is
// made once the result file is known to be this run's.
struct ProgressDisplay {
    ProgressLine line;
    std::optional<Heartbeat> heartbeat;

    void end() {
        line.end();
        heartbeat.reset();
    }
};

std::unique_ptr<profile::Recorder> make_recorder(comm::World& world, const RunArguments& arguments,
                                                 const PreparedRun& s, int threads,
                                                 const std::string& prediction,
                                                 const StartPoint& start, const RunClocks& clocks,
                                                 ProgressDisplay& display) {
    const auto& plan = s.session->plan();
    profile::RecorderOptions o;
    o.path = s.spec.output;
    o.overwrite = arguments.overwrite || arguments.resume;
    o.first = start.iteration();
    o.continued = start.continued;
    o.clock = clocks.run;
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
    o.evaluated = s.session->evaluated();
    o.features = result_features(*s.session);
    o.every = plan.profile.rows.mean_interval(plan.iterations);
    o.variance_every = plan.profile.variance.mean_interval(plan.iterations);
    o.schedule = s.session->schedule();
    if (o.schedule) o.certified = o.schedule->certified().matrix;
    o.max_random_matrices = s.spec.run.profile.graphs;
    o.common_clock = clocks.common;
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
        display.line.show(p);
        if (display.heartbeat) display.heartbeat->beat(p);
    };
    o.alive = [&](const profile::Progress& p) {
        if (display.heartbeat) display.heartbeat->beat(p);
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

// Ends the job on all ranks after a failure during training; the result file keeps the message.
[[noreturn]] void end_failed(comm::World& world, profile::Recorder& recorder,
                             const std::string& message, bool user_error,
                             const std::string& position) {
    write_crash_log(message);
    if (world.rank() == 0) recorder.fail(message);
    abort_job(world, message, user_error, position);
}

// Prints warnings about the spec, and what the program has chosen for this machine. Rank 0 only.
void report_choices(const PreparedRun& s, const train::Estimates& estimates) {
    for (const auto& warning : s.session->warnings(estimates)) base::warn(warning);
    if (const std::string why = s.device->fallback_reason(); !why.empty()) {
        base::warn("device: cpu, because " + why);
    }
    if (s.rank_placement) base::notice(placement_text(s));
    const std::string rows = s.session->rows_on_host();
    if (rows.starts_with("as messages") && !s.device->gpu()) {
        base::notice("ranks on the same host exchange rows " + rows);
    }
    const std::string& transport_name = s.on_device->transport_name();
    if (transport_name.ends_with(")")) {
        base::notice("rows travel between ranks by " + transport_name);
    }
}

// Prints why replicas are not trained in the fastest way. Rank 0 only.
void report_obstacles(const PreparedRun& s) {
    const train::Session& session = *s.session;
    if (session.stacking().ends_with(")")) base::notice("stacking: " + session.stacking());
    if (session.resident().starts_with("off (")) {
        base::notice("resident data: " + session.resident());
    }
    if (s.device->gpu() && session.capture().ends_with(")")) {
        base::notice("capture: " + session.capture());
    }
}

// Returns where the run starts: at iteration 0, or with --resume at the newest checkpoint.
// Collective; throws UserError if the run cannot be resumed.
StartPoint find_start(comm::World& world, const RunArguments& arguments, PreparedRun& s,
                      train::Checkpoints& checkpoints) {
    StartPoint start;
    if (!arguments.resume) return start;
    const EarlierResult earlier = examine_output(world, s);
    start.continued = !earlier.status.empty();
    start.complete = earlier.status == "complete";
    start.recorded_replicas = earlier.replicas;
    if (!start.complete) start.head = find_checkpoint(world, s, checkpoints, earlier.status);
    start.changed_inputs = require_recorded_inputs(world, arguments, earlier, start.head, s);
    if (world.rank() != 0) return start;
    if (start.complete) {
        base::notice(s.spec.output + " is already complete");
    } else if (start.head) {
        base::notice("continuing from iteration " + std::to_string(start.iteration()));
    } else {
        base::notice("no checkpoint in " + checkpoints.folder() + ": starting from iteration 0");
    }
    return start;
}

// Allocates the replicas and everything else that training needs. Collective; throws UserError on
// all ranks if the memory is too small.
void allocate(comm::World& world, const PreparedRun& s, const MemoryNeed& need) {
    const auto prepare = [&] {
        const std::string obstacle = memory_obstacle(need, world.local_size());
        if (!obstacle.empty()) throw base::UserError(obstacle);
        s.session->prepare();
    };
    run_on_all_ranks(world, prepare, need);
    s.session->choose_stacking();
    if (world.rank() == 0) report_obstacles(s);
}

// Records what changed since the checkpoint.
void record_changes(profile::Recorder& recorder, const PreparedRun& s, const StartPoint& start) {
    if (!start.head) return;
    const int64_t last = start.iteration() - 1;
    if (start.changes_replicas(s)) {
        recorder.event(last, "replicas",
                       std::to_string(start.head->replicas) + " became " +
                           std::to_string(s.placement.replicas) + " by " +
                           s.spec.resolved.at("checkpoint").at("replicas").get<std::string>());
    }
    if (is_other_device(start.head->device, s)) {
        recorder.event(last, "device", start.head->device + " became " + s.device->name());
    }
    if (!start.changed_inputs.empty()) {
        recorder.event(last, "data", start.changed_inputs.substr(0, 512));
    }
}

// Trains and records the run. Returns the signal that ended it early, or "".
std::string train_and_record(comm::World& world, const PreparedRun& s, const StartPoint& start,
                             train::Checkpoints& checkpoints, const RunClocks& clocks,
                             profile::Recorder& recorder) {
    if (!start.head) checkpoints.clear();
    record_changes(recorder, s, start);
    std::string signal = s.session->train(recorder, checkpoints, clocks.run, clocks.common);
    if (signal.empty()) {
        record_remarks(world, recorder, *s.session);
        recorder.finish("complete");
    } else {
        recorder.finish("preempted", "stopped by " + signal + "; --resume continues the run");
    }
    return signal;
}

// Runs one spec and returns the exit status. If it fails during training, it prints `position`:
// which of several specs this is.
int run(comm::World& world, const RunArguments& arguments, const Spec& spec, int threads,
        data::KeptData& data, const std::string& position) {
    base::note_preparation();
    stop_watching_for_crashes();
    PreparedRun s = prepare_run(world, spec, train::DevicePurpose::training, &data);
    const auto estimates = s.session->estimate();
    const std::string prediction = predict_run(world, arguments, s, threads, estimates);
    if (world.rank() == 0) report_choices(s, estimates);

    train::Checkpoints checkpoints(world, s.placement, s.spec.output + ".checkpoints",
                                   s.spec.run.checkpoint.keep, s.spec.run.checkpoint.replicas);
    checkpoints.record_inputs(s.inputs.dump(-1, ' ', false, Json::error_handler_t::replace));
    const StartPoint start = find_start(world, arguments, s, checkpoints);
    if (start.complete) return 0;
    claim_checkpoints(world, arguments, s, checkpoints);
    const MemoryNeed need{estimates.memory_bytes, s.device.get()};
    allocate(world, s, need);
    if (start.head) s.session->resume(checkpoints, *start.head);

    ProgressDisplay display{ProgressLine(arguments.quiet || world.rank() != 0), std::nullopt};
    base::catch_signals();
    run_on_all_ranks(world, [&] {
        if (world.rank() == 0 && start.changes_replicas(s) && start.file_fits_checkpoint()) {
            copy_earlier_file(s.spec.output, start.iteration());
        }
    });
    const base::Stopwatch clock(start.head ? start.head->elapsed : 0);
    const RunClocks clocks{clock, comm::common_clock(world, clock)};
    const auto recorder =
        make_recorder(world, arguments, s, threads, prediction, start, clocks, display);
    if (world.rank() == 0) {
        profile::Progress begin;
        begin.first = begin.completed = start.iteration();
        begin.iterations = s.session->plan().iterations;
        display.heartbeat.emplace(s.spec.output, world.host(), begin);
    }
    if (world.rank() == 0 && !start.head) {
        remove_crash_logs(s.spec.output);
        train::remove_texts(s.spec.output + ".texts");
    }
    watch_for_crashes(s.spec.output, world.rank(), world.host());
    std::string signal;
    try {
        signal = train_and_record(world, s, start, checkpoints, clocks, *recorder);
    } catch (const std::exception& error) {
        display.end();
        end_failed(world, *recorder,
                   is_out_of_memory(error) ? memory_message(error, need) : base::reason_of(error),
                   is_user_error(error), position);
    }
    display.line.end();
    if (!signal.empty()) {
        if (world.rank() == 0) {
            base::warn("stopped by " + signal + " after a checkpoint (" + checkpoints.folder() +
                       "): the same command with --resume continues the run");
        }
        return base::kExitPreempted;
    }
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

void end_on_signals_before_training(const std::string& spec) {
    if (!spec.empty()) {
        base::end_on_signals(base::kExitPreempted,
                             "before training of " + spec +
                                 " began: the results of the specs before it are complete, and its "
                                 "own earlier result and checkpoints are as they were; the same "
                                 "command with --resume continues");
        return;
    }
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
        const std::string number = arguments.specs[k] + ", spec " + std::to_string(k + 1) + " of " +
                                   std::to_string(specs.size());
        end_on_signals_before_training(k > 0 ? number : "");
        if (specs.size() > 1 && world.rank() == 0) {
            base::notice(number);
        }
        int status = base::kExitFailed;
        try {
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
