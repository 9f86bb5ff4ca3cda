#pragma once
// The connection of a rank's World to its device (device.hpp): where rows are allocated, on which
// queues kernels run, and which transport carries rows to other ranks.

#include <functional>
#include <string>

#include "comm/nccl/nccl_transport.hpp"
#include "comm/world/world.hpp"
#include "train/device/device.hpp"

namespace dbench::train {

/// While it lives, this rank computes on the device. The destructor restores the host.
class DeviceScope {
public:
    /// Makes `world` compute on the device. `world` and `device` must outlive this object; rows
    /// allocated meanwhile must be destroyed before it.
    DeviceScope(comm::World& world, Device& device);
    /// Leaves the device. Collective, unless an exception is being unwound.
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

    /// Lets NCCL carry the rows of ranks that compute on GPUs; `nccl` returns its parts. If `nccl`
    /// throws a UserError on any rank, ranks share a GPU, or the environment sets DBENCH_NCCL=0,
    /// the launcher's transport carries rows as before, through copies that the host reaches.
    /// Collective; call it after the last renumbering of ranks. Throws UserError on all ranks if
    /// DBENCH_NCCL is neither 0 nor 1 or if two ranks use the same GPU although their devices say
    /// that they do not, and RunError if NCCL fails.
    void connect(const std::function<comm::NcclParts()>& nccl);
    void connect();  ///< uses the device's own NCCL (nccl_of)

    /// Names the transport of rows between ranks: "NCCL 2.28.9", "MPI", or "MPI (why NCCL does not
    /// carry them)"; "" if there is one rank.
    const std::string& transport_name() const { return transport_name_; }

private:
    comm::World& world_;
    Device& device_;
    std::string transport_name_;
};

}  // namespace dbench::train
