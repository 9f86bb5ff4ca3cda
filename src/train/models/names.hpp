#pragma once
// The model table without LibTorch, for code that only lists or resolves names.

#include <vector>

#include "base/family.hpp"

namespace dbench::train {

std::vector<const base::Entry*> model_entries();

}  // namespace dbench::train
