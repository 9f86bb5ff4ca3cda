#include "arena/device/step_queue.hpp"

#include "base/error.hpp"

namespace dbench::arena {

StepQueue::Aside::~Aside() noexcept(false) {
    queue_.now_ = &queue_.own_;
    try {
        order(&queue_.side_, &queue_.own_, "what left beside a captured pass");
    } catch (const base::RunError&) {  // the device has failed, of which there may be word already
        if (std::uncaught_exceptions() == failures_) throw;
    }
}

}  // namespace dbench::arena
