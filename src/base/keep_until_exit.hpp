#pragma once

#include <memory>

namespace dbench::base {

/// Keeps an object until the process ends, because a device or a transport may still access its
/// memory. Any thread may call it.
void keep_until_exit(std::shared_ptr<const void> object);

}  // namespace dbench::base
