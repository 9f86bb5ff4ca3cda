#include "program/abort_job.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/failures.hpp"

namespace dbench::program {

bool is_user_error(const std::exception& error) {
    const auto* peer = dynamic_cast<const comm::PeerFailure*>(&error);
    return peer ? peer->user_error : dynamic_cast<const base::UserError*>(&error) != nullptr;
}

void abort_job(comm::World& world, const std::string& message, bool user_error,
               const std::string& remark) {
    base::report_error(message);
    if (world.rank() != 0) {
        world.report_failure(message, user_error);
    } else if (!remark.empty()) {
        base::warn(remark);
    }
    world.abort(user_error ? base::kExitUser : base::kExitFailed);
}

}  // namespace dbench::program
