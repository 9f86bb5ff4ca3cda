#pragma once
// Builds all parts of a run from its spec file, equally on every rank: graph, device, session.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "comm/placement.hpp"
#include "comm/world/run_together.hpp"
#include "comm/world/world.hpp"
#include "conform/stability.hpp"
#include "graphs/placement.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/schedules/staged.hpp"
#include "program/memory.hpp"
#include "program/spec.hpp"
#include "train/device/device.hpp"
#include "train/device/device_scope.hpp"
#include "train/run/session.hpp"

namespace dbench::program {

/// The command-line arguments of `dbench run` and `dbench check`.
struct RunArguments {
    std::vector<std::string> specs;     ///< spec files; several are run one after another
    std::vector<std::string> settings;  ///< the arguments of --set
    std::string output;  ///< empty: the spec's; with several specs, the folder of their results
    bool one_of_several = false;  ///< `output` is a folder, although `specs` names one spec
    bool overwrite = false;
    bool resume = false;               ///< continue from the newest checkpoint, if there is one
    bool accept_changed_data = false;  ///< resume even if data or files have changed
    bool quiet = false;
    std::string calibration;            ///< `run`: store a prediction from this file; empty: none
    bool accept_differences = false;    ///< use a calibration of another machine, model, ...
    int ranks = 0;                      ///< `check`: the ranks to plan for; 0: those that run
    bool activations = false;           ///< `check`: estimate the memory of activations
    std::vector<std::string> purposes;  ///< `check`: comparisons for which the run must serve
    std::string points;                 ///< `check`: a file of check_points.hpp; empty: none
    std::vector<std::string> command;   ///< argv, for provenance
};

/// The results that several specs would write.
class OutputWriters {
public:
    /// Adds the spec in the file `path` with its result file. Returns what is wrong if an earlier
    /// spec would write the same file; else an empty text.
    std::string add(const std::string& path, const std::string& output);

private:
    std::map<std::string, std::string> specs_;  // By absolute path of the result file.
};

/// Reads, overrides and resolves every spec on rank 0 and returns the results on all ranks. With
/// several specs it also checks that their outputs differ and that each may be written. The ranks
/// get the launcher's numbers. Collective; throws UserError on all ranks.
std::vector<Spec> read_specs(comm::World& world, const RunArguments& arguments);

/// The slots to which the spec's placement assigned the ranks.
struct RankPlacement {
    graphs::Slots slots;  ///< slot of each rank; slots are the launcher's process numbers
    /// Predicted seconds per iteration for the messages, with this placement and with the linear
    /// one. Empty if the placement does not use links.
    std::optional<double> seconds, linear_seconds;
};

/// All parts of one run on one rank. Members are declared so that the session is destroyed first.
struct PreparedRun {
    Spec spec;
    comm::Placement placement;
    base::Json inputs;          ///< digests of all that the run reads (inputs.hpp)
    base::Json earlier_inputs;  ///< those of earlier segments, if data were changed; else null
    std::shared_ptr<graphs::Schedule> graph;         ///< null for algorithms without a graph
    std::optional<graphs::Certificate> certificate;  ///< of the first graph; rank 0 only
    std::optional<conform::Growth> growth;        ///< of the algorithm on the graphs; rank 0 only
    std::optional<RankPlacement> rank_placement;  ///< empty if ranks keep the launcher's numbers
    std::unique_ptr<train::Device> device;        ///< of this rank
    std::unique_ptr<train::DeviceScope> on_device;
    std::unique_ptr<train::Session> session;
};

/// Builds everything that a run needs before its replicas are made, for training or for planning
/// (`use`). `data` keeps the data sets for the next call (null: it does not need them). Renumbers
/// the ranks of `world` by the spec's placement, so another process may become rank 0. Collective;
/// throws UserError on all ranks.
PreparedRun prepare_run(comm::World& world, Spec spec,
                        train::DevicePurpose use = train::DevicePurpose::training,
                        data::KeptData* data = nullptr);

/// Calls `work` on every rank. If it throws on some ranks, all ranks throw the error of the lowest
/// of these. `need` is the memory demand to report if an allocation fails. Collective.
template <class Work>
void run_on_all_ranks(comm::World& world, Work&& work, const MemoryNeed& need = {}) {
    comm::run_together(world, [&] {
        try {
            work();
        } catch (const base::UserError&) {
            throw;
        } catch (const std::exception& e) {
            if (is_out_of_memory(e)) throw base::UserError(memory_message(e, need));
            throw;
        }
    });
}

}  // namespace dbench::program
