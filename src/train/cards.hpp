#pragma once
// Cards that CUDA computes on. A build without CUDA finds none.

#include <memory>

#include "train/device.hpp"

namespace dbench::train {

/// How many there are on this machine.
int card_count();
/// What tells a card apart from the others of its machine, whoever sees it.
std::string card_identity(int number);
/// The one of that number, which becomes the one that this thread's LibTorch works on: on its
/// compute stream, convolutions by the fastest algorithm that cuDNN finds, float32 without TF32.
/// Throws UserError where it cannot be had.
std::unique_ptr<Device> make_card(int number);

}  // namespace dbench::train
