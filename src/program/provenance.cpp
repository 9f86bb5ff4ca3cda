#include "program/provenance.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/build_info.hpp"
#include "base/clock.hpp"
#include "comm/versions.hpp"
#include "data/jpeg.hpp"
#include "profile/result_file.hpp"
#include "program/recorded_environment.hpp"
#include "train/device/device.hpp"

extern char** environ;

namespace dbench::program {

std::string cpu_model() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    }
    return "unknown";
}

int usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::vector<std::pair<std::string, std::string>> build_facts() {
    const base::BuildInfo& build = base::build_info();
    return {
        {"dbench", std::string(build.version) + " (" + build.commit +
                       (build.dirty ? ", with local changes)" : ")")},
        {"compiler", std::string(build.compiler) + ", " + build.build_type + " " + build.flags},
        {"LibTorch", train::torch_version()},
        {"MPI", comm::mpi_version()},
        {"HDF5", profile::hdf5_version()},
        {"JPEG", data::jpeg_version()},
        {"CUDA", train::cuda_status()},
        {"NCCL", comm::nccl_version()},
    };
}

base::Json provenance(comm::World& world, const RunArguments& arguments, const PreparedRun& run,
                      int threads) {
    using base::Json;
    const train::Session& session = *run.session;
    Json out;
    Json versions = Json::object();
    for (const auto& [name, value] : build_facts()) versions[name] = value;
    const base::BuildInfo& build = base::build_info();
    out["versions"] = versions;
    out["build"] = {{"commit", build.commit},         {"dirty", build.dirty},
                    {"compiler", build.compiler},     {"flags", build.flags},
                    {"build_type", build.build_type}, {"cuda", build.cuda}};
    utsname system{};
    uname(&system);
    out["environment"] = {{"system", std::string(system.sysname) + " " + system.release},
                          {"machine", system.machine},
                          {"cpu", cpu_model()},
                          {"host", world.host()},
                          {"ranks", world.size()},
                          {"threads_per_rank", threads},
                          {"rows_on_host", session.rows_on_host()},
                          {"rows_between_ranks", run.on_device->transport_name()},
                          {"ranks_per_gpu", run.device->ranks_per_gpu()},
                          {"reduction", session.reduction()},
                          {"stacking", session.stacking()},
                          {"resident", session.resident()},
                          {"capture", session.capture()},
                          {"variables", recorded_environment(environ)}};
    for (const auto& [name, value] : run.device->settings()) out["environment"][name] = value;
    // All ranks compute on GPUs, or none does.
    if (run.device->gpu()) out["environment"]["gpus"] = world.gather(run.device->gpu_address());
    Json data = Json::object();
    for (const base::InputDigest& each : session.data_digests()) {
        // Files of the same name in different folders.
        const bool taken = data.contains(each.name) && data[each.name] != each.digest;
        data[taken && !each.path.empty() ? each.path : each.name] = each.digest;
    }
    out["data"] = data;
    out["inputs"] = run.inputs;
    if (!run.earlier_inputs.is_null()) out["earlier_inputs"] = run.earlier_inputs;
    out["command"] = arguments.command;
    out["time"] = base::iso_time();
    return out;
}

}  // namespace dbench::program
