#pragma once
// What this build's LibTorch can do on this machine.

#include <string>

namespace dbench::train {

std::string torch_version();

/// "not built", "built, no device" or "built, 4 devices: NVIDIA ...".
std::string cuda_status();
bool cuda_available();

/// Threads of one rank's tensor operations: OMP_NUM_THREADS where set, else one
/// (docs/numerics.md, rule 1). Returns the number.
int use_threads();

}  // namespace dbench::train
