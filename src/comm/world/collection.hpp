#pragma once
// A collective that nobody waits for: started at one point of the program, asked for at a later
// one.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/world/world.hpp"

namespace dbench::comm {

class Collective;

/// All ranks' texts on their way to rank 0 and its answer on the way back, while the ranks go on.
/// All ranks make theirs in the same order as their other collectives; whoever asks for what has
/// come waits only where a rank has not even begun, and then as World's collectives do.
class Collection {
public:
    using Answer = std::function<std::string(const std::vector<std::string>& texts)>;

    /// Returns at once. `what` names it where a wait takes too long. `answer`: on rank 0, what all
    /// ranks get; called once, by any thread.
    Collection(World& world, std::string what, std::string text, Answer answer);
    ~Collection();  ///< also of one that nobody has asked for

    bool done() const;                        ///< whether asking is free
    const std::vector<std::string>& texts();  ///< on rank 0 in the order of ranks, else empty
    const std::string& answer();

private:
    World::Impl& world_;
    const std::string what_;
    const std::shared_ptr<Collective> collective_;
};

}  // namespace dbench::comm
