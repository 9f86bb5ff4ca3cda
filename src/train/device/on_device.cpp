#include "train/device/on_device.hpp"

#include <cstdlib>
#include <exception>
#include <utility>

#include "arena/device/memory.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/versions.hpp"
#include "train/device/cuda_device.hpp"

namespace dbench::train {
namespace {

using base::UserError;

/// Whether the environment lets NCCL be used.
bool wants_nccl() {
    const char* const text = std::getenv("DBENCH_NCCL");
    const std::string word = text ? text : "";
    if (word.empty() || word == "1") return true;
    if (word == "0") return false;
    throw UserError("DBENCH_NCCL=" + word +
                    " is neither 0 (MPI carries rows between cards) nor 1 (NCCL does, where it is "
                    "there): set one of them, or nothing");
}

}  // namespace

OnDevice::OnDevice(comm::World& world, Device& device) : world_(world), device_(device) {
    arena::use_memory(device.memory(), device.values_memory(), device.space());
    world.compute_on(device.queues());
    if (world.size() > 1) carrier_ = "MPI";
}

OnDevice::~OnDevice() {
    try {
        world_.carry_rows(nullptr);
    } catch (const std::exception& error) {
        base::warn(error.what());
    }
    world_.compute_on({});
    arena::use_memory(nullptr);
}

void OnDevice::connect() {
    connect([this] { return nccl_of(device_); });
}

void OnDevice::connect(const std::function<comm::NcclParts()>& nccl) {
    if (world_.size() == 1 || !device_.queues().compute) return;
    bool wanted = false;
    std::string error, obstacle;
    try {
        wanted = wants_nccl();
    } catch (const UserError& e) {
        error = e.what();
    }
    world_.agree(error, true);
    comm::NcclParts parts;
    try {
        if (wanted) parts = nccl();
    } catch (const UserError& e) {
        obstacle = e.what();
    }
    if (!wanted) obstacle = "DBENCH_NCCL=0";
    for (const std::string& why : world_.all_gather(obstacle)) {
        if (why.empty()) continue;
        carrier_ = (comm::mpi_reads_cards() ? "MPI, CUDA-aware (" : "MPI (") + why + ")";
        return;
    }
    const std::string version = comm::version_text(parts.nccl);
    world_.carry_rows(comm::join_nccl(world_, std::move(parts), device_.card().value_or(0)));
    carrier_ = "NCCL " + version;
}

}  // namespace dbench::train
