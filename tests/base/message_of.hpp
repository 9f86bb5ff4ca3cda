#pragma once

#include <string>

#include "base/error.hpp"

namespace dbench::base {

/// What `call` complains of as the user's fault; empty where it does not.
template <class Call>
std::string message_of(Call&& call) {
    try {
        call();
    } catch (const UserError& error) {
        return error.what();
    }
    return "";
}

}  // namespace dbench::base
