#pragma once
// The message of an expected UserError.

#include <string>

#include "base/error.hpp"

namespace dbench::base {

/// Returns the message of the UserError that `call` throws; "" if it does not throw one.
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
