#pragma once
// The errors by which a rank learns that another rank has failed or does not answer.

#include <string>

#include "base/error.hpp"

namespace dbench::comm {

/// Another rank failed and reported why. Waits and checks throw it on rank 0.
class PeerFailure : public base::RunError {
public:
    explicit PeerFailure(const std::string& text, bool user = false)
        : RunError(text), user_error(user) {}
    bool user_error;  ///< True if the other rank failed with a UserError.
};

/// A wait exceeded its deadline. The text names what the rank waited for and the ranks that did
/// not answer.
class Stalled : public base::RunError {
public:
    using base::RunError::RunError;
};

}  // namespace dbench::comm
