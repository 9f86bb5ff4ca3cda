#pragma once
// What cards there are and whether this program runs on them, asked of CUDA: nothing is computed. A
// build without CUDA finds none.

#include <string>

namespace dbench::train {

/// How many there are on this machine.
int card_count();
/// Why there are none, in CUDA's words.
std::string card_absence();
/// Whether kernels compiled for CMake's CUDA_ARCHITECTURES, between spaces ("80 90-real"), run on a
/// card of that compute capability: on machine code of its generation, or on PTX, of which the
/// driver makes code for newer ones. Words that are no numbers, as "native", are trusted.
bool has_code(const std::string& architectures, int major, int minor);
/// What keeps this program's kernels from that one, such as that it "is of compute capability 7.5,
/// ..."; "" where nothing does.
std::string card_obstacle(int number);
/// What tells a card apart from the others of its machine, whoever sees it.
std::string card_identity(int number);
/// Of cuDNN, as "9.19.0".
std::string cudnn_version();
/// Of the driver, as its maker numbers it, not by CUDA's version; "unknown" where it does not say.
std::string driver_version();

}  // namespace dbench::train
