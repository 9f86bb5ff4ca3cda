// The transport of rows between ranks that compute on GPUs: NCCL, or the launcher's transport.

#include "train/device/device_scope.hpp"

#include "arena/emulated_device.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "comm/environment.hpp"
#include "comm/nccl_stand_in.hpp"
#include "comm/ranks.hpp"
#include "comm/world/world_impl.hpp"
#include "train/device/cuda_device.hpp"

namespace dbench::train {
namespace {

using Catch::Matchers::ContainsSubstring;
using comm::tests::NcclStandIn;

class EmulatedTrainingDevice final : public Device {
public:
    explicit EmulatedTrainingDevice(int ranks) : ranks_(ranks) {}
    arena::Place place() const override { return place_; }
    int ranks_per_gpu() const override { return ranks_; }

private:
    int ranks_;
    mutable arena::EmulatedDevice device_{1};
    arena::Place place_{device_.add_queue(), device_.add_queue()};
};

/// Returns, for each of three ranks on GPUs, the transport of rows or the error. If `one_has_none`,
/// rank 1 has no NCCL.
std::vector<std::string> carriers(NcclStandIn& nccl, bool one_has_none = false,
                                  int ranks_per_gpu = 1) {
    return comm::tests::play(3, [&](comm::World& world) {
        EmulatedTrainingDevice device(ranks_per_gpu);
        std::string transport_name;
        {
            DeviceScope on_device(world, device);
            on_device.connect([&] {
                if (one_has_none && world.rank() == 1) throw base::UserError("it is not there");
                return nccl.parts(world.slot());
            });
            transport_name = on_device.transport_name();
            const bool over_nccl = world.impl().rows().queue() != nullptr;
            if (over_nccl != transport_name.starts_with("NCCL"))
                transport_name += ", but the World uses another transport";
            world.barrier();
        }
        const bool left = !world.impl().rows().queue() && world.place().immediate();
        return transport_name + (left ? "" : ", and the device was not left");
    });
}

TEST_CASE("NCCL carries rows between GPUs, unless a rank lacks it or it is switched off") {
    const auto all = [](const char* transport_name) {
        return std::vector<std::string>(3, transport_name);
    };
    for (const char* const said : {static_cast<const char*>(nullptr), "1"}) {
        const comm::tests::Environment wanted("DBENCH_NCCL", said);
        NcclStandIn nccl(3), none(3);
        CHECK(carriers(nccl) == all("NCCL 2.28.9"));
        CHECK(nccl.problem().empty());
        CHECK(carriers(none, true) == all("MPI (it is not there)"));
    }
    const comm::tests::Environment unwanted("DBENCH_NCCL", "0");
    NcclStandIn nccl(3);
    CHECK(carriers(nccl) == all("MPI (DBENCH_NCCL=0)"));
}

TEST_CASE("MPI carries rows between ranks that share a GPU") {
    NcclStandIn nccl(3);
    const std::string over = "MPI (2 ranks share a GPU, which NCCL does not support)";
    CHECK(carriers(nccl, false, 2) == std::vector<std::string>(3, over));
}

TEST_CASE("Permanent obstacles to NCCL are refused with a remedy") {
    {
        NcclStandIn nccl(3);
        nccl.share_card(2, 1);
        for (const std::string& end : carriers(nccl)) {
            CHECK_THAT(end, ContainsSubstring("ranks 1 and 2 both use GPU") &&
                                ContainsSubstring("several replicas"));
        }
    }
    const comm::tests::Environment wrong("DBENCH_NCCL", "yes");
    NcclStandIn nccl(3);
    for (const std::string& end : carriers(nccl)) {
        CHECK_THAT(end, ContainsSubstring("DBENCH_NCCL=yes is neither 0 (MPI"));
    }
}

TEST_CASE("NCCL does not connect ranks on the host") {
    const std::vector<std::string> ends = comm::tests::play(2, [](comm::World& world) {
        DeviceScope on_device(world, host_device());
        on_device.connect();
        return on_device.transport_name();
    });
    CHECK(ends == std::vector<std::string>{"MPI", "MPI"});
    try {
        nccl_of(host_device());
        FAIL("it does");
    } catch (const base::UserError& error) {
        CHECK_THAT(error.what(), ContainsSubstring("NCCL connects GPUs, not cpu: "));
    }
}

}  // namespace
}  // namespace dbench::train
