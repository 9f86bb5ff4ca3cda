#pragma once
// From a spec file to the parts of a run, on every rank alike.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "comm/placement.hpp"
#include "comm/world/world.hpp"
#include "conform/stability.hpp"
#include "graphs/placement.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/schedules/staged.hpp"
#include "program/memory.hpp"
#include "program/spec.hpp"
#include "train/device/device.hpp"
#include "train/device/on_device.hpp"
#include "train/run/session.hpp"

namespace dbench::bench {

/// What the command line says of a run.
struct RunArguments {
    std::vector<std::string> specs;  ///< files; of several, one run after another
    std::vector<std::string> settings;
    std::string output;  ///< empty: as the spec says; of several specs, the folder of their results
    bool overwrite = false;
    bool resume = false;  ///< go on from the newest checkpoint, if there is one
    bool quiet = false;
    std::vector<std::string> command;  ///< argv, for provenance
};

/// Rank 0 reads, overrides and resolves every spec; all ranks get the results. Of several, no two
/// have the same output, and none has one that may not be replaced. Collective; throws UserError on
/// all ranks.
std::vector<Spec> read_everywhere(comm::World& world, const RunArguments& arguments);

/// Where the spec's placement has put the ranks.
struct Placed {
    graphs::Placement slots;  ///< of each rank, as the launcher numbers processes
    /// Of the messages of an iteration, by the links that the placement was found with, and what
    /// they would need without it; nothing where it looks at no links.
    std::optional<double> seconds, linear_seconds;
};

struct Setup {
    Spec spec;
    comm::Placement placement;
    std::shared_ptr<graphs::Schedule> graph;  ///< the spec's; null for algorithms without one
    std::optional<graphs::Certificate> certificate;  ///< of the first graph; rank 0 only
    std::optional<conform::Growth> growth;  ///< of the algorithm on the graphs; rank 0 only
    std::optional<Placed> placed;           ///< nothing where ranks are as the launcher has them
    std::unique_ptr<train::Device> device;  ///< of this rank; the session ends before it
    std::unique_ptr<train::OnDevice> on_device;
    std::unique_ptr<train::Session> session;
};

/// Everything up to the replicas, to train them or to plan that. Gives the ranks of `world` the
/// numbers that the spec's placement says: which process is rank 0 may change. Collective; throws
/// UserError on all ranks, naming what is wrong.
Setup set_up(comm::World& world, Spec spec, train::Use use = train::Use::training);

/// Runs `work` on every rank; where it throws on any, all ranks throw the lowest failing rank's
/// error. `need`: of memory, for when it is not there. Collective.
template <class Work>
void everywhere(comm::World& world, Work&& work, const MemoryNeed& need = {}) {
    std::string error;
    bool user = false;
    try {
        work();
    } catch (const base::UserError& e) {
        error = e.what();
        user = true;
    } catch (const std::exception& e) {
        user = is_out_of_memory(e);
        error = user ? memory_message(e, need) : base::reason_of(e);
    }
    world.agree(error, user);
}

}  // namespace dbench::bench
