#pragma once
// The model table without LibTorch, for code that only lists or resolves names.

#include <string>
#include <vector>

#include "base/family.hpp"

namespace dbench::train {

std::vector<const base::Entry*> model_entries();

/// Returns the path of the file from which a resolved /model is made; "" if it needs none.
std::string model_file(const base::Json& model);
/// The largest such file, in bytes.
inline constexpr size_t kMostModelBytes = size_t{4} << 30;

}  // namespace dbench::train
