#include "arena/device/step_queue.hpp"

#include "base/error.hpp"

namespace dbench::arena {

StepQueue::SideQueueScope::~SideQueueScope() noexcept(false) {
    queue_.now_ = &queue_.own_;
    try {
        order(queue_.side_, queue_.own_, "the side queue of a captured pass");
    } catch (const base::RunError&) {  // The device has failed; another exception may already
                                       // report it.
        if (std::uncaught_exceptions() == failures_) throw;
    }
}

}  // namespace dbench::arena
