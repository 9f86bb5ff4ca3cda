#pragma once
// Set-up steps that must succeed on every rank.

#include <exception>
#include <optional>
#include <string>
#include <type_traits>

#include "base/error.hpp"
#include "base/json.hpp"
#include "comm/world/world.hpp"

namespace dbench::comm {

/// Calls `work` on every rank, and returns its result. If it throws on some ranks, all ranks throw
/// the error of the lowest of these: UserError if it was one, otherwise RunError. Collective.
/// Requires that no rank waits in `work` for a rank on which it has failed.
template <class Work>
auto run_together(World& world, Work&& work) {
    using Result = std::invoke_result_t<Work>;
    std::optional<std::conditional_t<std::is_void_v<Result>, bool, Result>> result;
    std::string error;
    bool user = false;
    try {
        if constexpr (std::is_void_v<Result>) {
            work();
        } else {
            result = work();
        }
    } catch (const base::UserError& e) {
        error = e.what();
        user = true;
    } catch (const std::exception& e) {
        error = base::reason_of(e);
    }
    world.agree(error, user);
    if constexpr (!std::is_void_v<Result>) return *std::move(result);
}

}  // namespace dbench::comm
