#pragma once
// A rank that computes on a device: where its rows lie, where it computes, and what carries rows to
// the other ranks.

#include <functional>
#include <string>

#include "comm/nccl/nccl_transport.hpp"
#include "comm/world/world.hpp"
#include "train/device/device.hpp"

namespace dbench::train {

class OnDevice {
public:
    /// Rows that are made from now on lie in the device's memory, and `world` computes on its
    /// queues. Both outlive this; what is made with them goes before.
    OnDevice(comm::World& world, Device& device);
    /// Leaves the device, together with the other ranks unless an exception is on its way.
    ~OnDevice();
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

    /// Lets NCCL carry the rows of ranks that compute on cards; `nccl` gives its parts. Where that
    /// throws a UserError on one of them, or environment DBENCH_NCCL is 0, the launcher's plane
    /// does as before, with copies that the host reaches. Collective, after the last renumbering.
    /// Throws UserError on all ranks where DBENCH_NCCL is neither 0 nor 1, or two ranks have one
    /// card; RunError where NCCL fails.
    void connect(const std::function<comm::NcclParts()>& nccl);
    void connect();  ///< with NCCL as the device has it

    /// What carries rows between ranks: "NCCL 2.28.9", "MPI", or "MPI (why NCCL does not)"; ""
    /// where there is one rank.
    const std::string& carrier() const { return carrier_; }

private:
    comm::World& world_;
    Device& device_;
    std::string carrier_;
};

}  // namespace dbench::train
