#pragma once
// Long work of a rank, such as an evaluation, for whose end other ranks may wait.

#include "comm/world/world.hpp"

namespace dbench::comm {

/// Tells the other ranks from time to time that this rank makes progress: their waits then have
/// their deadline from the last such message, and not from their start. A rank that hangs in its
/// work sends none, so that the others notice it. Short work sends no messages. The main thread
/// makes and calls it.
class LongWork {
public:
    /// Call it when the work begins.
    explicit LongWork(World& world);
    /// Call it after each part of the work. Throws as World::check_failures does.
    void progressed();

private:
    World::Impl& world_;
    double told_;  ///< Time of the last message, or of the beginning.
};

}  // namespace dbench::comm
