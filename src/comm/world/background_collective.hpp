#pragma once
// A collective that runs in the background: the program starts it, computes, and reads the result
// later.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/world/world.hpp"

namespace dbench::comm {

class Collective;

/// Sends all ranks' texts to rank 0 and its answer back to all, while the ranks compute. All ranks
/// make these objects in the same order as their other collectives. texts() and answer() block only
/// if some rank has not yet started this collective; they wait as World's collectives do.
class BackgroundCollective {
public:
    using Answer = std::function<std::string(const std::vector<std::string>& texts)>;

    /// Starts the collective and returns at once. `what` names it in errors. `answer`: computes on
    /// rank 0 the text that all ranks receive; called once, on any thread.
    BackgroundCollective(World& world, std::string what, std::string text, Answer answer);
    ~BackgroundCollective();  ///< May be called before the collective is done.

    bool done() const;                        ///< True if texts() and answer() do not block.
    const std::vector<std::string>& texts();  ///< On rank 0 in rank order; empty on others.
    const std::string& answer();

private:
    World::Impl& world_;
    const std::string what_;
    const std::shared_ptr<Collective> collective_;
};

}  // namespace dbench::comm
