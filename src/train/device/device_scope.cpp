#include "train/device/device_scope.hpp"

#include <cstdlib>
#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/versions.hpp"
#include "comm/world/run_together.hpp"
#include "train/device/cuda_device.hpp"

namespace dbench::train {
namespace {

using base::UserError;

/// True if the environment allows NCCL. Throws UserError if DBENCH_NCCL is neither 0 nor 1.
bool nccl_allowed() {
    const char* const text = std::getenv("DBENCH_NCCL");
    const std::string word = text ? text : "";
    if (word.empty() || word == "1") return true;
    if (word == "0") return false;
    throw UserError("DBENCH_NCCL=" + word +
                    " is neither 0 (MPI carries rows between GPUs) nor 1 (NCCL does, if it is "
                    "installed): set 0 or 1, or unset it");
}

}  // namespace

DeviceScope::DeviceScope(comm::World& world, Device& device) : world_(world), device_(device) {
    world.compute_on(device.place());
    if (world.size() > 1) transport_name_ = "MPI";
}

DeviceScope::~DeviceScope() {
    try {
        world_.use_row_transport(nullptr);
    } catch (const std::exception& error) {
        base::warn(error.what());
    }
    world_.compute_on(arena::host_place());
}

void DeviceScope::connect() {
    connect([this] { return nccl_of(device_); });
}

void DeviceScope::connect(const std::function<comm::NcclParts()>& nccl) {
    if (world_.size() == 1 || device_.place().immediate()) return;
    const bool wanted = comm::run_together(world_, nccl_allowed);
    std::string obstacle;
    comm::NcclParts parts;
    try {
        if (wanted && device_.ranks_per_gpu() == 1) parts = nccl();
    } catch (const UserError& e) {
        obstacle = e.what();
    }
    if (device_.ranks_per_gpu() > 1) {
        obstacle = std::to_string(device_.ranks_per_gpu()) +
                   " ranks share a GPU, which NCCL does not support";
    }
    if (!wanted) obstacle = "DBENCH_NCCL=0";
    for (const std::string& why : world_.all_gather(obstacle)) {
        if (why.empty()) continue;
        transport_name_ =
            (comm::mpi_reads_gpu_memory() ? "MPI, CUDA-aware (" : "MPI (") + why + ")";
        return;
    }
    const std::string version = comm::version_text(parts.nccl);
    world_.use_row_transport(comm::join_nccl(world_, std::move(parts), device_.gpu().value_or(0)));
    transport_name_ = "NCCL " + version;
}

}  // namespace dbench::train
