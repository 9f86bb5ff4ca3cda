#pragma once
// Cards that CUDA computes on. A build without CUDA finds none.

#include <memory>
#include <string>

#include "comm/nccl_plane.hpp"
#include "train/device.hpp"

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
/// The one of that number, which becomes the one that this thread's LibTorch works on: on its
/// compute stream, convolutions by the fastest algorithm that cuDNN finds, float32 without TF32.
/// Throws UserError where it cannot be had.
std::unique_ptr<Device> make_card(int number);
/// What connects a card to those of other ranks. Throws UserError where the device is none, or NCCL
/// is not there.
comm::NcclParts nccl_of(Device& device);

}  // namespace dbench::train
