#pragma once
// Labelled images in memory: bytes as they were read, normalised when a batch is made.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_spec.hpp"
#include "data/dataset.hpp"

namespace dbench::data {

/// Images and labels of one split, in file order.
struct Images {
    int64_t channels = 0, height = 0, width = 0;
    std::vector<uint8_t> pixels;   ///< (N, C, H, W)
    std::vector<uint16_t> labels;  ///< (N)

    int64_t count() const { return static_cast<int64_t>(labels.size()); }
    int64_t numel() const { return channels * height * width; }
};

/// (pixel / 255 - mean) / deviation, per channel.
struct Normalization {
    std::vector<double> mean, deviation;
};

/// Mean and deviation of all pixels, per channel; of a channel that is one colour, 1.
Normalization measured(const Images& images);

/// `published` for the standard one, the plain pixel / 255 for unit.
Normalization chosen_normalization(Normalize kind, const Normalization& published);

/// What augmentation does to one image: a window of the image padded by kPadding zeros, mirrored or
/// not. The padding is black before normalisation, as of torchvision's RandomCrop on raw images.
struct Crop {
    int64_t top, left;  ///< 0 .. 2 kPadding
    bool mirrored;
};
inline constexpr int64_t kPadding = 4;
Crop draw_crop(uint64_t augment_key);
/// The same as a window of sample `index`; all of it where the key is 0.
arena::Window window_of(int64_t index, uint64_t augment_key);
/// Writes the window of `image` (C, H, W) to `out` of the same shape.
void apply_crop(const Crop& crop, const uint8_t* image, int64_t channels, int64_t height,
                int64_t width, uint8_t* out);

std::shared_ptr<const Dataset> image_set(Images images, int64_t classes,
                                         const Normalization& normalization);

}  // namespace dbench::data
