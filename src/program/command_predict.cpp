// dbench calibrate and dbench predict: measure what iterations of a spec cost on a machine, and
// predict the time of training with other graphs, orders and hosts.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "program/commands.hpp"
#include "program/forecast_run.hpp"
#include "program/machine_costs.hpp"
#include "train/device/allocator.hpp"
#include "train/device/device.hpp"

namespace dbench::program {

using base::Json;

namespace {

constexpr double kBriefSeconds = 4;  // of a measurement without a calibration

// Checks before the measurements that their results can be written, and creates the folder. Throws
// UserError.
void check_calibration_output(const std::string& path, bool overwrite) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (fs::is_directory(path, error)) {
        throw base::UserError("--output: " + path + " is a folder: give the name of a file");
    }
    if (!overwrite && fs::exists(fs::symlink_status(path, error))) {
        throw base::UserError("--output: " + path +
                              " exists: choose another name, or replace it with --overwrite");
    }
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty()) fs::create_directories(folder, error);  // writing reports the error
    try {
        base::check_writable("--output:", path);
    } catch (const base::RunError& refused) {
        throw base::UserError(std::string(refused.what()) + ": choose another --output");
    }
}

// Returns the samples per replica, if the spec's batch depends on the number of replicas; else 0.
int64_t batch_of_replica(const PreparedRun& run) {
    const base::Json& batch = run.spec.resolved.at("data").at("batch_size");
    if (batch.is_number() || batch.contains("tokens")) return 0;
    return std::max<int64_t>(1, run.session->plan().samples_per_iteration / run.placement.replicas);
}

// Returns what changes a run into one of a single replica, which is measured instead.
std::vector<std::string> settings_of_one_replica(const PreparedRun& run) {
    std::vector<std::string> settings{"/replicas=1"};
    // A file has a list of samples for each replica of the run.
    const bool listed = run.spec.resolved.at("data").at("partition").at("type") == "file";
    if (listed) settings.emplace_back("/data/partition=iid");
    return settings;
}

// The replicas of the run on the ranks that the options describe, or that were calibrated.
ForecastRequest request_of(const PredictArguments& a, int64_t replicas,
                           const predict::Calibration* calibration,
                           std::vector<std::string>& assumptions) {
    ForecastRequest request;
    request.graphs = a.graphs;
    request.usual_graphs = a.graphs.empty();
    request.both_orders = true;
    request.simulated = a.iterations;
    request.site.bandwidth = a.bandwidth;
    request.site.latency = a.latency;
    std::vector<int>& host = request.site.host;
    if (a.hosts > 0) {
        for (int h = 0; h < a.hosts; ++h) host.insert(host.end(), a.gpus_per_node, h);
        assumptions.push_back("Each of the " + std::to_string(a.hosts * a.gpus_per_node) +
                              " ranks has one replica; consecutive ranks are on the same host.");
    } else if (calibration && static_cast<int64_t>(calibration->hosts.size()) <= replicas) {
        host = number_hosts(calibration->hosts);
        assumptions.push_back("The ranks are on the hosts of the calibration.");
    } else {
        host.assign(static_cast<size_t>(replicas), 0);
        assumptions.push_back(
            "Each replica has a rank of its own, and all ranks are on one host: --hosts and "
            "--gpus-per-node describe others.");
    }
    request.placement = {replicas, static_cast<int>(host.size())};
    request.site.replicas_per_rank = static_cast<double>(request.placement.count(0));
    return request;
}

}  // namespace

int command_calibrate(comm::World& world, const CalibrateArguments& given) {
    const RunArguments& arguments = given.run;
    base::set_log_identity(world.rank(), arguments.quiet);
    train::keep_freed_memory();
    const int threads = train::use_threads();
    const std::string path = arguments.output;
    run_on_all_ranks(world, [&] {
        if (world.rank() == 0) check_calibration_output(path, arguments.overwrite);
    });
    predict::Subject subject;
    {
        RunArguments alone = arguments;
        alone.output.clear();
        const PreparedRun run = prepare_run(world, read_specs(world, alone).front());
        subject = subject_of(run, threads);
    }
    predict::Calibration calibration = measure_costs(world, arguments, given.seconds);
    calibration.subject = subject;
    run_on_all_ranks(world, [&] {
        if (world.rank() != 0) return;
        try {
            base::replace_file("--output:", path, predict::to_json(calibration).dump(2) + "\n");
        } catch (const base::RunError& error) {
            throw base::UserError(error.what());
        }
        base::notice("wrote " + path + " (dbench predict SPEC --calibration " + path + ")");
    });
    return 0;
}

int command_predict(comm::World& world, const PredictArguments& a) {
    base::set_log_identity(world.rank(), true);
    if (world.size() > 1) {
        throw base::UserError(
            "predict: " + std::to_string(world.size()) +
            " ranks have been started, but it simulates ranks: start one process, "
            "and describe the ranks with --hosts and --gpus-per-node");
    }
    train::keep_freed_memory();
    const int threads = train::use_threads();
    RunArguments run_arguments = a.run;
    if (a.hosts > 0) {
        run_arguments.settings.push_back("/replicas=" +
                                         std::to_string(int64_t{a.hosts} * a.gpus_per_node));
    }
    const auto prepare = [&] {
        return prepare_run(world, read_specs(world, run_arguments).front(),
                           train::DevicePurpose::planning);
    };
    std::vector<std::string> assumptions;
    std::optional<predict::Calibration> calibration;
    const bool measured = a.calibration.empty();
    if (measured) {
        int64_t batch = 0;
        RunArguments alone = run_arguments;
        {
            const PreparedRun run = prepare();
            batch = batch_of_replica(run);
            for (std::string& each : settings_of_one_replica(run)) {
                alone.settings.push_back(std::move(each));
            }
        }
        calibration = measure_costs(world, alone, kBriefSeconds, batch);
        assumptions.push_back(
            "The compute step was measured briefly on this machine, with one rank: dbench "
            "calibrate measures more, with all ranks at once.");
    }
    PreparedRun run = prepare();
    const predict::Subject now = subject_of(run, threads);
    if (measured) {
        calibration->subject = now;
    } else {
        calibration = read_calibration(a.calibration, now, a.accept_differences, assumptions);
    }
    const ForecastRequest request =
        request_of(a, run.placement.replicas, measured ? nullptr : &*calibration, assumptions);
    const predict::Prediction prediction =
        forecast_run(run, *calibration, run.session->estimate(request.placement), request,
                     std::move(assumptions));
    if (a.json) {
        std::cout
            << predict::to_json(prediction).dump(2, ' ', false, Json::error_handler_t::replace)
            << "\n";
    } else {
        std::cout << predict::to_text(prediction);
    }
    return 0;
}

}  // namespace dbench::program
