#include "base/keep_until_exit.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace dbench::base {

void keep_until_exit(std::shared_ptr<const void> object) {
    static std::mutex mutex;
    // Static destructors must not free the objects either.
    static auto* const kept = new std::vector<std::shared_ptr<const void>>;
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(object));
}

}  // namespace dbench::base
